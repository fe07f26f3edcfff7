// A bare stream of Intel PT packets with memory images as a session.
#pragma once

#include <memory>
#include <string>

#include "decoding.h"
#include "raw_input.h"

namespace hodo::session {

class Raw final : public DecodingSession {
 public:
  static Result<std::unique_ptr<Session>> open(const Options& options);

  const std::string& path() const override { return trace_.path(); }
  const perfdata::Session* recording() const override { return nullptr; }
  Clock clock() const override { return Clock(); }
  std::span<const Queue> queues() const override { return {&queue_, 1}; }
  const Names& names() const override { return trace_.names(); }
  std::size_t read_code(std::uint32_t, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) override {
    return image::read_code(trace_.code(), address, time, out);
  }
  isa::Mode mode(std::uint32_t) override { return config_.initial_mode; }
  std::vector<LossLine> input_losses() const override { return {}; }

 private:
  explicit Raw(RawTrace trace) : trace_(std::move(trace)) {}

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

  RawTrace trace_;
  Queue queue_;
  flow::Config config_;
};

}  // namespace hodo::session
