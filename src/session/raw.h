// A bare stream of Intel PT packets with memory images as a session.
#pragma once

#include <memory>
#include <string>

#include "decoding.h"
#include "raw_session.h"

namespace hodo::session {

class Raw final : public RawSession<DecodingSession> {
 public:
  static Result<std::unique_ptr<Session>> open(const Options& options);

  isa::Mode mode(std::uint32_t, std::uint64_t) override { return config_.initial_mode; }

 private:
  explicit Raw(RawTrace trace) : RawSession(std::move(trace)) {}

  Status decodable() const override { return {}; }
  Result<std::vector<Part>> parts(std::size_t) override {
    return std::vector<Part>{{.bytes = trace_.bytes()}};
  }
  Occupancy occupancy(std::size_t) override;
  std::unique_ptr<image::CodeSource> code(std::size_t, const Occupancy&) override;
  flow::Config config(std::size_t, const Occupancy&) override { return config_; }
  std::optional<Explanation> explain(const Context&, const flow::Loss&) override {
    return std::nullopt;
  }

  flow::Config config_;
};

}  // namespace hodo::session
