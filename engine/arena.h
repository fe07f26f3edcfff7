// Arenas of translated code, near the code that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Where an entry of the engine lies that code in every arena can jump to.
enum Glue : unsigned {
  kGlueExit,
  kGlueFlush,
  kGlueFull,
  kGlueMiss,
  kGlueReturn,
  kGlueCheck,
  kGlueBlock,
  kGlueBlockKeep,
  kGlueX87,
  kGlues
};

// A fragment's place in its arena, and its map (insn_map.h).
struct FragmentPlace {
  std::uint32_t ip_low, ip_high;
  std::uint32_t begin;    // in the arena, from its base
  std::uint32_t map;      // where its entries begin in the arena's map
  std::uint16_t bytes;    // behind `begin`
  std::uint16_t entries;  // without the head

  std::uint64_t ip() const { return std::uint64_t{ip_high} << 32 | ip_low; }
};

inline constexpr std::size_t kMostArenaBytes = std::size_t{32} << 20;
// An arena takes a fragment for each so many of its bytes, at most.
inline constexpr std::size_t kBytesPerFragment = 64;

struct Arena {
  std::uint8_t* base = nullptr;        // null: there is none
  std::uint8_t* hot = nullptr;         // next free byte of the first half: fragments
  std::uint8_t* cold = nullptr;        // next free byte of the second half: what they seldom need
  FragmentPlace* fragments = nullptr;  // in the order of their places
  std::uint8_t* map = nullptr;
  std::uint32_t fragment_count = 0;
  std::uint32_t map_used = 0;
  std::uint32_t edition = 0;  // edition.h; 0: none has it
  bool is_small = false;      // its first fragments lie on small pages
  std::uint8_t* glue(Glue which) const { return base + 16 * which; }
};

// For a cache of so many bytes, before the first one is made.
void size_arenas(std::uint64_t cache_bytes);
// An arena of the current edition with room that lies so near to `ip` that displacements of code
// there keep reaching, as long as there is room for one.
Arena& arena_near(std::uint64_t ip);
// Whether a displacement reaches `target` from all of the arena that `at` lies in.
bool reaches_from_everywhere(const std::uint8_t* at, std::uint64_t target);
// One that there is, by its number.
std::uint8_t number_of(const Arena& arena);
Arena& arena_by_number(std::uint8_t number);
// Whether there is one, or can be.
bool arena_is_ready(std::uint64_t ip);
// Its first fragments get a huge page once there are many.
void choose_pages(Arena& arena);
// How many bytes its second half still takes.
std::size_t cold_room(const Arena& arena);
// A jump to `target` from the arena that `near` lies in; null: it is full.
std::uint8_t* far_jump(std::uint64_t near, std::uint64_t target);
// The arena that this address lies in; null: none. Needs no lock.
const Arena* arena_of(std::uint64_t address);
// The address in an arena that ends in these bits; 0: none. Needs no lock.
std::uint64_t arena_address(std::uint32_t low);
inline Arena* arena_of_code(const std::uint8_t* at) {
  return const_cast<Arena*>(arena_of(reinterpret_cast<std::uint64_t>(at)));
}

// Of an edition: what its arenas and their maps hold.
std::uint64_t arena_bytes_used(std::uint32_t edition);
// Who comes to the head of this fragment, or of any in an edition, gets to an INT3: all registers
// are the program's there.
void trap_head(std::uint8_t* head);
void trap_heads(std::uint32_t edition);
// No thread stands there any more: the next edition may take them.
void free_arenas(std::uint32_t edition);

}  // namespace hodo::engine
