// Where the kernel writes other instructions over its own when it starts, for the processor that it
// has found (apply_alternatives in arch/x86/kernel/alternative.c).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace hodo::kernelcheck {

struct Alternative {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // bytes that may be written over
  bool operator==(const Alternative&) const = default;
};

// `table`: the kernel's array of struct alt_instr, at `address`. The struct has 12 bytes from Linux
// 5.10 on, and 14 with the flags that 6.3 added; a table does not say which, so it is read as that
// of which more entries begin in code. Empty: neither makes sense.
std::vector<Alternative> alternatives(std::span<const std::uint8_t> table, std::uint64_t address,
                                      const std::function<bool(std::uint64_t)>& is_code);

}  // namespace hodo::kernelcheck
