// What ran between the target of one recorded branch and the source of the next: BTS and LBR write
// down the taken branches alone, and between two of them code runs straight on.
#pragma once

#include <cstdint>

#include "hodo/image/code.h"
#include "hodo/isa/insn.h"

namespace hodo::session {

struct StraightLine {
  enum class End : std::uint8_t {
    joined,    // the walk came to the source
    apart,     // it cannot come there: an instruction on the way leaves, or the source lies inside
               // of one, or before the start
    no_code,   // nothing is known at `stopped`
    bad_code,  // the bytes at `stopped` are no instruction
  };

  End end = End::apart;
  isa::InsnClass cls = isa::InsnClass::other;  // of the instruction at the source, if joined
  std::uint16_t not_taken = 0;                 // conditional branches that fell through on the way
  std::uint32_t insns = 0;                     // executed, the one at the source included
  std::uint64_t target = 0;                    // of a direct branch at the source; 0: none
  std::uint64_t stopped = 0;                   // where the walk ended
  std::uint64_t valid_from = 0;  // trace time; the answer holds for [valid_from, valid_until)
  std::uint64_t valid_until = ~std::uint64_t{0};
};

// What a trace leaves out although control was transferred.
enum class Unrecorded : std::uint8_t {
  nothing,       // a system call or software interrupt on the way is a gap
  system_calls,  // only user space was recorded: a system call is followed by what stands behind it
};

// No code of a compiler runs longer than this without a taken branch; it bounds the work that one
// record can ask for.
inline constexpr std::uint64_t kLongestLine = 64 * 1024;  // bytes

class NotTakenSink {
 public:
  virtual ~NotTakenSink() = default;
  // The branch at `from` fell through to `next`; `insns` were executed since the last call or the
  // start.
  virtual void not_taken(std::uint64_t from, std::uint64_t next, std::uint32_t insns) = 0;
};

// Walks the code from `start` to the instruction at `source`, as it was at `time`. `sink` may be
// null.
StraightLine walk_straight(const image::CodeSource& code, std::uint64_t start, std::uint64_t source,
                           isa::Mode mode, std::uint64_t time, Unrecorded unrecorded,
                           NotTakenSink* sink = nullptr);

}  // namespace hodo::session
