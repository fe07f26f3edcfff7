// A session of which nothing is asked but what a test gives it: no code, no names, no losses.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "hodo/session/session.h"

namespace hodo::session {

class BareSession : public Session {
 public:
  explicit BareSession(std::size_t queues = 0) : queues_(queues) {}

  const std::string& path() const override { return path_; }
  TraceKind trace() const override { return TraceKind::pt; }
  const Facts* facts() const override { return nullptr; }
  Clock clock() const override { return Clock(); }
  std::span<const Queue> queues() const override { return queues_; }
  std::size_t read_code(std::uint32_t, std::uint64_t, std::uint64_t,
                        std::span<std::uint8_t>) override {
    return 0;
  }
  isa::Mode mode(std::uint32_t, std::uint64_t) override { return isa::Mode::bits64; }
  const Names& names() const override { std::abort(); }
  std::vector<LossLine> input_losses() const override { return {}; }

 protected:
  std::string path_;
  std::vector<Queue> queues_;
};

}  // namespace hodo::session
