// The loop over queues that recordings and raw traces share.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hodo/flow/checkpoint.h"
#include "hodo/session/parts.h"
#include "hodo/session/session.h"
#include "queue_job.h"

namespace hodo::session {

// A decoder of parts, kept from one to the next: it then knows the code already. Stays where it is,
// since the source refers to the occupancy.
struct PreparedPart {
  explicit PreparedPart(Occupancy of) : occupancy(std::move(of)) {}
  PreparedPart(const PreparedPart&) = delete;
  PreparedPart& operator=(const PreparedPart&) = delete;

  Occupancy occupancy;
  bool not_taken = false;
  std::unique_ptr<image::CodeSource> source;
  std::unique_ptr<flow::PartDecoder> decoder;
};

// What Session promises of decoding, for a session over such an input.
class PtDecoding {
 public:
  // Both must outlive this.
  PtDecoding(const Session& session, PtInput& input) : session_(session), input_(input) {}

  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink);
  Result<Outcome> cover(const DecodeOptions& options, RunSink& sink);
  Result<Outcome> count(const DecodeOptions& options);
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink);
  Result<Outcome> decode_marked(const DecodeOptions& options, std::size_t spacing,
                                CheckpointSink& sink);
  Result<Outcome> decode_part(const StreamPart& part, const DecodeOptions& options,
                              BranchSink& sink, std::optional<PreparedPart>& kept);

 private:
  struct Prepared;
  flow::Decoder& prepare(std::optional<Prepared>& last, const QueueJob& job,
                         const DecodeOptions& options);
  flow::PartDecoder& prepare(std::optional<PreparedPart>& kept, std::size_t queue,
                             const Occupancy& occupancy, const DecodeOptions& options);
  template <class Work>
  Result<Outcome> each_queue(const DecodeOptions& options, Work work);

  const Session& session_;
  PtInput& input_;
};

// Base is a session that is also known to have packets.
template <class Base>
class DecodingSession : public Base, public PtInput {
 public:
  using Base::Base;
  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) final {
    return PtDecoding(*this, *this).decode(options, sink);
  }
  Result<Outcome> cover(const DecodeOptions& options, RunSink& sink) final {
    return PtDecoding(*this, *this).cover(options, sink);
  }
  Result<Outcome> count(const DecodeOptions& options) final {
    return PtDecoding(*this, *this).count(options);
  }
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) final {
    return PtDecoding(*this, *this).packets(options, sink);
  }
};

}  // namespace hodo::session
