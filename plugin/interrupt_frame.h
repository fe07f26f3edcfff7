// What an interrupt or exception pushes on the stack of its handler.
#pragma once

#include <cstdint>
#include <optional>

#include "machine.h"

namespace hodo::plugin {

struct InterruptFrame {
  std::uint64_t ip = 0;
  bool from_user = false;
  bool has_error_code = false;
};

// To be asked when the first block of a handler is about to run. Nullopt: the stack does not look
// like one.
std::optional<InterruptFrame> interrupt_frame(const Machine& machine, void* cpu);

}  // namespace hodo::plugin
