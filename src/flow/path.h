// What is remembered of a path through the code.
#pragma once

#include <cstdint>

#include "hodo/flow/decoder.h"
#include "hodo/isa/insn.h"

namespace hodo::flow {

// Which packet a path answers, and what its key is.
enum class StepKind : std::uint8_t {
  none,
  outcomes,      // TNT: outcomes as in the packet, under a stop bit
  compressed,    // a return in a TNT: the return address
  indirect,      // TIP: its IP
  trace_end,     // TIP.PGD with its IP
  trace_end_at,  // TIP.PGD without IP: 0
  trace_begin,   // TIP.PGE: its IP; the path begins at 0
  place,         // FUP, also of a PSB+: its IP
  stretch,       // several packets while tracing is on, see stretch.h
  stretch_off,   // ... that begin while it is off; the path begins at 0
};

// Those that need not be remembered where the path is followed step by step.
constexpr bool is_stepped(StepKind kind) {
  return kind == StepKind::outcomes || kind == StepKind::compressed || kind == StepKind::indirect;
}

struct alignas(64) Path {
  std::uint64_t ip = 0;  // where it begins
  std::uint64_t key = 0;
  std::uint64_t next = 0;        // where it leads
  std::uint64_t valid_from = 0;  // the code was as it was walked in [valid_from, valid_until)
  std::uint64_t valid_until = 0;
  std::uint32_t edges : 24 = 0;   // of its first edge's number in the memo
  std::uint32_t used : 7 = 0;     // of the key's outcomes; the rest are still to come
  std::uint32_t counted : 1 = 0;  // it was hit in the decoding before
  std::uint32_t insns = 0;
  std::uint32_t tail = 0;  // of them, behind the last edge
  std::uint32_t hits = 0;  // times it was taken again in this decoding
  std::uint16_t edge_count = 0;
  std::uint16_t dropped = 0;  // branches not taken that are no edges of it
  std::uint8_t what = 0;      // what_of(); 0: none
  std::uint8_t pops = 0;      // see below
  std::uint8_t peak = 0;
  std::uint8_t pushes = 0;
  // The return stack: takes some off, rises to a peak, and puts some on. The return addresses stand
  // before the edges, in two halves each.

  bool valid_at(std::uint64_t time) const { return valid_from <= time && time < valid_until; }
};
static_assert(sizeof(Path) == 64);

// StepKind and mode, as Path::what has them.
constexpr std::uint8_t what_of(StepKind kind, isa::Mode mode) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 2 | static_cast<unsigned>(mode));
}
// In Path::what: it has been replaced, and stays until its hits are settled and the memo is
// cleared.
inline constexpr std::uint8_t kReplaced = 0xff;

inline constexpr std::size_t kMostPathEdges = 1024;
inline constexpr std::uint32_t kMostPathInsns = 1u << 28;
// Edges are copied so many at a time, the last time perhaps some too many: the numbers behind them
// are some edges' numbers, too.
inline constexpr std::size_t kEdgesAtOnce = Repeats::kStep;

}  // namespace hodo::flow
