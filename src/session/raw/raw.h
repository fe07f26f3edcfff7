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

  std::vector<Part> parts(std::size_t) override { return {{.size = trace_.size()}}; }
  Status read_trace(std::uint64_t offset, std::span<std::uint8_t> out) override {
    return trace_.read(offset, out);
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
