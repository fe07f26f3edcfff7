// From the program's code to code in the cache that does the same and leaves a trace.
//
// The unit is a superblock: it runs on behind conditional branches that are not taken, over direct
// jumps, until something leads elsewhere. R10 and R11 are the engine's (thread_area.h). Where they
// are appended the status flags are free, or nothing that changes flags is used (LEA, JRCXZ,
// BSWAP): the program may use flags over calls, returns and indirect jumps.
#pragma once

#include <cstdint>

namespace hodo::engine {

// One way out of a fragment, or a place where the engine is asked for something. Below 2 GB.
struct Exit {
  enum Kind : std::uint32_t { direct, syscall, flush, unsupported, interrupt };
  std::uint64_t target = 0;              // of the program
  std::uint64_t resume = 0;              // in the cache, behind a flush; behind INT in the program
  std::uint8_t* displacement = nullptr;  // of the branch that leads to the stub, as long as it does
  Kind kind = direct;
  // Of a conditional branch: what it appends on the way, "not taken" so often, then "taken".
  std::uint16_t zeros = 0;
  bool taken = false;
};

// How a fragment is entered first.
enum class Entry { direct, by_return, by_tip };

struct Fragment {
  std::uint8_t* head = nullptr;  // with all registers of the program
  std::uint8_t* landing =
      nullptr;  // of `by_return` and `by_tip`: RAX has the target, RAX and RCX are in the spill slots
};

Fragment translate(std::uint64_t ip, Entry entry);
// The same, entered by a branch first, whose outcomes lie before the head: at `landing`.
Fragment translate_behind(const Exit& branch);
// Those outcomes before a jump to the fragment that there is.
std::uint8_t* make_way(const Exit& branch, std::uint8_t* head);
// A landing for a fragment that there is.
std::uint8_t* make_landing(std::uint64_t ip, Entry entry, std::uint8_t* head);

}  // namespace hodo::engine
