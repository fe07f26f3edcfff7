// The loop over queues that recordings and raw traces share.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hodo/session/session.h"
#include "occupancy.h"
#include "queue_bytes.h"
#include "queue_sink.h"

namespace hodo::session {

// An input with Intel PT packets.
class PtInput {
 public:
  virtual ~PtInput() = default;
  // Success where the input has a trace that can be decoded.
  virtual Status decodable() const { return {}; }
  // The newest part of a longer trace, as was asked for: that it begins between two PSBs is no
  // loss.
  virtual bool snapshot() const { return false; }
  virtual std::vector<Part> parts(std::size_t queue) = 0;
  // As ReadTrace.
  virtual Status read_trace(std::uint64_t offset, std::span<std::uint8_t> out) = 0;
  virtual Occupancy occupancy(std::size_t queue) = 0;
  // The code that the queue's occupants see; `occupancy` outlives it.
  virtual std::unique_ptr<image::CodeSource> code(std::size_t queue,
                                                  const Occupancy& occupancy) = 0;
  virtual flow::Config config(std::size_t queue, const Occupancy& occupancy) = 0;
  virtual std::optional<Explanation> explain(const Context& who, const flow::Loss& loss) = 0;
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

 private:
  struct Job;
  struct Prepared;
  flow::Decoder& prepare(std::optional<Prepared>& last, const Job& job,
                         const DecodeOptions& options);
  QueueListener listener(const Job& job, const DecodeOptions& options);
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
