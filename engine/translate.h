// From the program's code to code in the cache that does the same and leaves a trace.
//
// The unit is a superblock: it runs on behind conditional branches that are not taken, over direct
// jumps, until something leads elsewhere. R10 and R11 are the engine's (thread_area.h). Where they
// are appended the status flags are free, or nothing that changes flags is used (LEA, JRCXZ,
// BSWAP): the program may use flags over calls, returns and indirect jumps.
#pragma once

#include <cstdint>

namespace hodo::engine {

// One way out of a fragment. Below 2 GB. Nearly every branch of the program has one: it is small.
struct Exit {
  // `branch`: outcomes are appended on its way, "not taken" `zeros` times, then "taken". It may
  // never be taken: code for that is made once it is.
  // `native`: the program's own instruction runs, which has code here, too.
  enum Kind : std::uint8_t { direct, branch, syscall, unsupported, native, interrupt };
  std::uint64_t target = 0;  // of the program; `syscall`: behind the instruction
  std::uint32_t place = 0;   // link_place() of the branch that leads to the stub; 0: it does not
  std::uint8_t arena = 0;    // that this is in
  Kind kind = direct;
  std::uint8_t zeros = 0;
  std::uint8_t length = 0;  // of the instruction: `syscall`, `interrupt`
};
static_assert(sizeof(Exit) == 16);

// A place in the cache where pending outcomes may have to be written out, or packets. Below 2 GB.
struct Flush {
  std::uint64_t ip = 0;      // of the program, where execution stands
  std::uint64_t resume = 0;  // in the cache, behind it
};

// How a fragment is entered first.
enum class Entry { direct, by_return, by_tip };

struct Fragment {
  std::uint8_t* head = nullptr;     // with all registers of the program
  std::uint8_t* landing = nullptr;  // of `by_return` and `by_tip`: RAX has the target, RAX and RCX
                                    // are in the spill slots
};

Fragment translate(std::uint64_t ip, Entry entry);
// The same, entered by a branch first, whose outcomes lie before the head: at `landing`.
Fragment translate_behind(const Exit& branch);
// Those outcomes before a jump to the fragment that there is.
std::uint8_t* make_way(const Exit& branch, std::uint8_t* head);
// A landing for a fragment that there is.
std::uint8_t* make_landing(std::uint64_t ip, Entry entry, std::uint8_t* head);

}  // namespace hodo::engine
