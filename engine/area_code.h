// Places in the thread's area as code in the cache names them, and what is done with them in many
// places.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emitter.h"
#include "hodo/unit/inline_pt.h"
#include "thread_area.h"

namespace hodo::engine {

inline constexpr std::size_t kUnit = offsetof(ThreadArea, unit);
inline constexpr std::size_t kCursor = kUnit + unit::InlinePt::kCursor;
inline constexpr std::size_t kLimit = kUnit + unit::InlinePt::kLimit;
inline constexpr std::size_t kLastHigh = kUnit + unit::InlinePt::kLastHigh;
static_assert(kCursor <= 127 && kLimit <= 127 && kLastHigh <= 127);
inline constexpr std::size_t kCalls = offsetof(ThreadArea, calls);
static_assert(kCalls % 256 == 0 && kCalls < 256 * 256);
inline constexpr std::size_t kTop = offsetof(ThreadArea, calls_top);
constexpr std::size_t taken(unsigned reg) { return offsetof(ThreadArea, taken) + 8 * (reg - r10); }
constexpr std::size_t scratch(unsigned reg) {
  return offsetof(ThreadArea, scratch) + 8 * (reg - r10);
}
inline constexpr std::size_t kAddressScratch = offsetof(ThreadArea, address_scratch);
inline constexpr std::size_t kFlags = offsetof(ThreadArea, flags);
inline constexpr std::size_t kProgramStack = offsetof(ThreadArea, registers.rsp);
constexpr std::size_t spill(unsigned i) { return offsetof(ThreadArea, spill) + 8 * i; }

// Of the engine's tables, which lie below 2 GB.
inline std::uint32_t low(const void* address) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(address));
}

// RAX and RCX of the program.
inline void spill_two(Emitter& out) {
  out.store(spill(0), rax);
  out.store(spill(1), rcx);
}

inline void restore_spilled(Emitter& out) {
  out.load(rax, spill(0));
  out.load(rcx, spill(1));
}

}  // namespace hodo::engine
