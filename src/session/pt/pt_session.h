// A perf.data file with Intel PT packets as a session; or with no trace, which decoding says.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decoding.h"
#include "file/file_session.h"

namespace hodo::session {

class PtSession final : public DecodingSession<FileSession>, public Parts {
 public:
  explicit PtSession(OpenedFile file) : DecodingSession(std::move(file)) {}

  // Parts.
  Result<Outcome> decode_marked(const DecodeOptions& options, std::size_t spacing,
                                CheckpointSink& sink) override {
    return PtDecoding(*this, *this).decode_marked(options, spacing, sink);
  }
  Result<Outcome> decode_part(const StreamPart& part, const DecodeOptions& options,
                              BranchSink& sink) override {
    return PtDecoding(*this, *this).decode_part(part, options, sink, kept_);
  }
  std::vector<std::string> code_files() override;
  // One turn for each queue: then a queue's branches are one thread's, of one process.
  bool has_parts();

  // PtInput.
  Status decodable() const override;
  bool snapshot() const override { return model().pt().snapshot; }
  std::unique_ptr<TraceReader> trace_of(std::size_t queue, StreamRange range) override {
    return checked_trace(queue, range);
  }
  Occupancy occupancy(std::size_t queue) override;
  std::unique_ptr<image::CodeSource> code(std::size_t queue, const Occupancy& occupancy) override;
  flow::Config config(std::size_t queue, const Occupancy& occupancy) override;
  std::optional<Explanation> explain(const Context& who, const flow::Loss& loss) override {
    return explain_missing(who, loss);
  }

 private:
  std::optional<PreparedPart> kept_;  // of the last part
};

}  // namespace hodo::session
