// Which instruction of the program a place in the cache stands for: needed when a signal or a fault
// finds a thread there. One byte for most instructions.
#pragma once

#include <cstdint>

namespace hodo::engine {

struct Arena;

// The last place at or before which an instruction of the program begins.
struct InsnPlace {
  std::uint64_t ip = 0;
  // Outcomes "not taken" that the fragment owes there, on top of the pending ones.
  unsigned zeros = 0;
  // It begins exactly here: all registers but R10 and R11 are the program's, those two are in
  // ThreadArea::taken and R11 holds the pending outcomes.
  bool exact = false;
  const std::uint8_t* head = nullptr;  // of the fragment
  bool first = false;                  // the fragment's head, before its block is entered
  // The first instruction that begins at the same place: direct jumps before `ip` have no code.
  std::uint64_t first_ip = 0;
};

// Writes the map of one fragment while it is translated; addresses only grow.
class InsnMapWriter {
 public:
  // `ip` and `at`: of the fragment's head.
  void begin(Arena& arena, std::uint64_t ip, const std::uint8_t* at);
  void add(std::uint64_t ip, const std::uint8_t* at, unsigned zeros);
  void end(const std::uint8_t* at);

 private:
  Arena* arena_ = nullptr;
  std::uint64_t ip_ = 0;
  const std::uint8_t* at_ = nullptr;
  unsigned zeros_ = 0;
};

// False: no fragment is there, but a landing, a stub, or nothing.
bool find_insn(std::uint64_t cache_address, InsnPlace& place);
// Of the fragment that begins there, or the last one before; 0: none.
std::uint64_t last_fragment(std::uint64_t cache_address);
// Is this in the cache at all?
bool in_cache(std::uint64_t address);

}  // namespace hodo::engine
