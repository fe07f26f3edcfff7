// What sessions of bare traces have in common: one queue, memory images, no recording around it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hodo/session/session.h"
#include "raw_input.h"

namespace hodo::session {

class RawSession : public Session {
 public:
  const std::string& path() const override { return trace_.path(); }
  const Facts* facts() const override { return nullptr; }
  Clock clock() const override { return Clock(); }
  std::span<const Queue> queues() const override { return {&queue_, 1}; }
  const Names& names() const override { return trace_.names(); }
  std::size_t read_code(std::uint32_t, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) override {
    return image::read_code(trace_.code(), address, time, out);
  }
  std::vector<LossLine> input_losses() const override { return {}; }

 protected:
  explicit RawSession(RawTrace trace) : trace_(std::move(trace)) {}

  RawTrace trace_;
  Queue queue_;
};

}  // namespace hodo::session
