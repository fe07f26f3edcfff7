// Arenas of translated code, near the code that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Where an entry of the engine lies that code in every arena can jump to.
enum Glue : unsigned {
  kGlueExit,
  kGlueFlush,
  kGlueMiss,
  kGlueReturn,
  kGlueCheck,
  kGlueBlock,
  kGlueBlockKeep,
  kGlues
};

// A fragment's place in its arena, and its map (insn_map.h).
struct FragmentPlace {
  std::uint64_t ip;
  std::uint32_t begin, end;  // in the arena, from its base
  std::uint32_t map;         // where its entries begin in the arena's map
  std::uint32_t entries;     // without the head
};

struct Arena {
  static constexpr std::size_t kBytes = std::size_t{32} << 20;
  // More than fit into the first half, by the least that a fragment and an instruction take there.
  static constexpr std::size_t kFragments = kBytes / 2 / 5;
  static constexpr std::size_t kMapBytes = kBytes * 2;
  std::uint8_t* base = nullptr;
  std::uint8_t* hot = nullptr;   // next free byte of the first half: fragments
  std::uint8_t* cold = nullptr;  // next free byte of the second half: what they seldom need
  std::uint8_t* glue(Glue which) const { return base + 16 * which; }
  FragmentPlace* fragments = nullptr;  // in the order of their places
  std::uint8_t* map = nullptr;
  std::uint32_t fragment_count = 0;
  std::uint32_t map_used = 0;
};

// An arena with room that lies so near to `ip` that displacements of code there keep reaching.
Arena& arena_near(std::uint64_t ip);
// A jump to `target` from the arena that `near` lies in; null: it is full.
std::uint8_t* far_jump(std::uint64_t near, std::uint64_t target);
// The arena that this address lies in; null: none. Needs no lock.
const Arena* arena_of(std::uint64_t address);
inline Arena* arena_of_code(const std::uint8_t* at) {
  return const_cast<Arena*>(arena_of(reinterpret_cast<std::uint64_t>(at)));
}

}  // namespace hodo::engine
