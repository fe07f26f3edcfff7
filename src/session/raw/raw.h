// A bare stream of Intel PT packets with memory images as a session.
#pragma once

#include <memory>
#include <string>

#include "pt/decoding.h"
#include "raw_session.h"

namespace hodo::session {

class Raw final : public DecodingSession<RawSession> {
 public:
  static Result<std::unique_ptr<Session>> open(const Options& options);

  TraceKind trace() const override { return TraceKind::pt; }
  isa::Mode mode(std::uint32_t, std::uint64_t) override { return config_.initial_mode; }

 private:
  explicit Raw(RawTrace trace) : DecodingSession(std::move(trace)) {}

  std::unique_ptr<TraceReader> trace_of(std::size_t, StreamRange range) override {
    return std::make_unique<PlainTrace>(
        within({{.size = trace_.size()}}, range),
        [this](std::uint64_t offset, auto out) { return trace_.read(offset, out); });
  }
  Occupancy occupancy(std::size_t) override;
  std::unique_ptr<image::CodeSource> code(std::size_t, const Occupancy&) override;
  flow::Config config(std::size_t, const Occupancy&) override { return config_; }
  std::optional<Explanation> explain(const Context&, const flow::Loss& loss) override {
    return trace_.explain(loss);
  }

  flow::Config config_;
};

}  // namespace hodo::session
