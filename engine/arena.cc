#include "arena.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "edition.h"
#include "emitter.h"
#include "glue.h"
#include "memory.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[];

namespace {

constexpr std::size_t kMaxArenas = 256;  // number_of()
// How far code may lie from what it stands for: displacements reach 2 GB, and those of operands
// are to go on reaching. Programs whose memory is full nearby have to do with the second.
constexpr std::uint64_t kNearby = std::uint64_t{1} << 30;
constexpr std::uint64_t kReach = (std::uint64_t{2} << 30) - (std::uint64_t{256} << 20);

// Half for fragments, half for what they seldom need; and beside it, of each byte so much for the
// fragments' places and their maps, more than they are seen to take.
constexpr std::size_t kLeastArenaBytes = std::size_t{1} << 20;
std::size_t arena_bytes = kMostArenaBytes;
std::size_t most_fragments() { return arena_bytes / kBytesPerFragment; }
std::size_t map_bytes() { return arena_bytes / 2; }
std::size_t table_bytes() { return most_fragments() * sizeof(FragmentPlace) + map_bytes(); }

// Where the heap of a program may begin that lies at a fixed place below this.
constexpr std::uint64_t kHeaps = std::uint64_t{1} << 30;

Arena arenas[kMaxArenas];
std::size_t arena_count = 0;  // places behind that have never been taken

// What an edition leaves has this one: kept for the next, as the program, or a table of the engine,
// could come to lie there, and nothing else be free.
constexpr std::uint32_t kNone = 0;

// `at`: there or nowhere, but anywhere if it is 0.
std::uint8_t* map_arena(std::uint64_t at) {
  const long where = at == 0 ? place_elsewhere(arena_bytes) : static_cast<long>(at);
  const int flags = at == 0 ? kOnlyThere & ~MAP_FIXED_NOREPLACE : kOnlyThere;
  const long got = raw_syscall(SYS_mmap, where, static_cast<long>(arena_bytes),
                               PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);
  if (failed(got) || (at != 0 && got != where)) return nullptr;
  note_own(static_cast<std::uint64_t>(got), arena_bytes);
  return reinterpret_cast<std::uint8_t*>(got);
}

// For code in front of heaps: the last free place behind where they begin that is within reach.
// Null: there is none.
std::uint8_t* find_place_behind_heaps(std::uint64_t ip) {
  std::uint64_t at = (ip + kReach - 2 * arena_bytes) & ~(arena_bytes - 1);
  for (; at >= kHeaps; at -= arena_bytes) {
    if (std::uint8_t* got = map_arena(at)) return got;
  }
  return nullptr;
}

// The first free place below `ip`, then above it; null: none is so near.
std::uint8_t* find_place(std::uint64_t ip, std::uint64_t reach) {
  const std::uint64_t home = ip & ~(arena_bytes - 1);
  for (std::uint64_t distance = arena_bytes; distance < reach - arena_bytes;
       distance += arena_bytes) {
    if (home > distance + 0x10000) {
      if (std::uint8_t* got = map_arena(home - distance)) return got;
    }
    if (home + distance < 0x7fff'0000'0000) {
      if (std::uint8_t* got = map_arena(home + distance)) return got;
    }
  }
  return nullptr;
}

bool map_tables(Arena& arena) {
  void* got = try_map_memory(table_bytes());
  if (got == nullptr) return false;
  arena.fragments = static_cast<FragmentPlace*>(got);
  arena.map = static_cast<std::uint8_t*>(got) + most_fragments() * sizeof(FragmentPlace);
  return true;
}

void write_glue(const Arena& arena) {
  void (*const entries[kGlues])() = {glue_exit,  glue_flush,      glue_full,
                                     glue_miss,  glue_return,     glue_check,
                                     glue_block, glue_block_keep, glue_x87};
  for (unsigned i = 0; i < kGlues; ++i) {
    Emitter out(arena.glue(static_cast<Glue>(i)));
    out.bytes({0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90});  // JMP [RIP + 2]
    out.quad(reinterpret_cast<std::uint64_t>(entries[i]));
  }
}

// Nothing has been translated there.
void begin_arena(Arena& arena, std::uint8_t* place) {
  arena.hot = place + std::size_t{16} * kGlues;
  arena.cold = place + arena_bytes / 2;
  arena.fragment_count = arena.map_used = 0;
  arena.edition = current_edition();
  arena.is_small = arena_bytes == kMostArenaBytes;
  if (arena.is_small) {
    const auto begin = reinterpret_cast<long>(place);
    const long half = static_cast<long>(arena_bytes / 2);
    raw_syscall(SYS_madvise, begin, 2 * half, MADV_HUGEPAGE);
    // Most programs are small: to clear huge pages would be much of what it takes to start them.
    for (const long first : {begin, begin + half}) {
      raw_syscall(SYS_madvise, first, kHugePage, MADV_NOHUGEPAGE);
    }
  }
}

bool lies_near(const Arena& arena, std::uint64_t ip, std::uint64_t reach) {
  const auto here = reinterpret_cast<std::uint64_t>(arena.base);
  return ip > here ? ip - here < reach : here + arena_bytes - ip < reach;
}

// More than one fragment takes, of each.
bool has_room(const Arena& arena) {
  constexpr std::ptrdiff_t kRoom = 1 << 16;
  constexpr std::size_t kMapRoom = 1 << 12;
  const std::uint8_t* middle = arena.base + arena_bytes / 2;
  return middle - arena.hot > kRoom && arena.base + arena_bytes - arena.cold > kRoom &&
         arena.fragment_count < most_fragments() && map_bytes() - arena.map_used > kMapRoom;
}

// Of this edition with room, or else one that is left; null: there is none that fits.
template <class Fits>
Arena* find_arena(Fits fits) {
  for (std::size_t i = arena_count; i-- > 0;) {
    Arena& arena = arenas[i];
    if (arena.base == nullptr || arena.edition != current_edition()) continue;
    if (fits(arena) && has_room(arena)) return &arena;
  }
  for (std::size_t i = arena_count; i-- > 0;) {
    Arena& arena = arenas[i];
    if (arena.base == nullptr || arena.edition != kNone || !fits(arena)) continue;
    begin_arena(arena, arena.base);
    write_glue(arena);
    return &arena;
  }
  return nullptr;
}

// Gigabytes of the program near which nothing was free in this edition: not looked at again and
// again.
std::uint64_t crowded[16];
std::size_t crowded_count = 0;
std::uint64_t gigabyte(std::uint64_t ip) { return ip / kNearby; }

bool is_crowded(std::uint64_t ip) {
  return std::find(std::begin(crowded), std::end(crowded), gigabyte(ip) + 1) != std::end(crowded);
}
void note_crowded(std::uint64_t ip) {
  crowded[crowded_count++ % std::size(crowded)] = gigabyte(ip) + 1;
}

// Null: there is no memory for its tables.
Arena* make_arena(std::uint8_t* place) {
  std::size_t at = 0;
  while (at < arena_count && arenas[at].base != nullptr) ++at;
  Arena made;
  made.base = place;
  begin_arena(made, place);
  if (at == kMaxArenas || !map_tables(made)) {
    unmap_memory(reinterpret_cast<std::uint64_t>(place), arena_bytes);
    return nullptr;
  }
  write_glue(made);
  made.base = nullptr;  // until all else is there: arena_of()
  Arena& arena = arenas[at];
  arena = made;
  __atomic_store_n(&arena.base, place, __ATOMIC_RELEASE);
  if (at == arena_count) __atomic_store_n(&arena_count, at + 1, __ATOMIC_RELEASE);
  return &arena;
}

template <class Visit>
void each_of(std::uint32_t edition, Visit visit) {
  for (std::size_t i = 0; i < arena_count; ++i) {
    if (arenas[i].base != nullptr && arenas[i].edition == edition) visit(arenas[i]);
  }
}

}  // namespace

namespace {

Arena* try_arena_near(std::uint64_t ip) {
  // Programs have nothing beyond: nothing can be copied that would have to lie near.
  if (ip >> 47 != 0) ip = reinterpret_cast<std::uint64_t>(__executable_start);
  const auto find_near = [ip](std::uint64_t reach) {
    return find_arena([=](const Arena& arena) { return lies_near(arena, ip, reach); });
  };
  const bool looks = !is_crowded(ip);
  if (ip < kHeaps) {
    if (Arena* arena = find_near(kReach)) return arena;
    std::uint8_t* place = looks ? find_place_behind_heaps(ip) : nullptr;
    if (place != nullptr) return make_arena(place);
  }
  for (const std::uint64_t reach : {kNearby, kReach}) {
    if (Arena* arena = find_near(reach)) return arena;
    std::uint8_t* place = looks ? find_place(ip, reach) : nullptr;
    if (place != nullptr) return make_arena(place);
  }
  if (looks) note_crowded(ip);
  // Anywhere else code names what lies beside it in the program by a register (copy_insn.h).
  if (Arena* arena = find_arena([](const Arena&) { return true; })) return arena;
  std::uint8_t* place = map_arena(0);
  return place == nullptr ? nullptr : make_arena(place);
}

}  // namespace

bool arena_is_ready(std::uint64_t ip) { return try_arena_near(ip) != nullptr; }

Arena& arena_near(std::uint64_t ip) {
  Arena* arena = try_arena_near(ip);
  if (arena == nullptr) die("no room for translated code near", ip);
  return *arena;
}

std::uint8_t number_of(const Arena& arena) { return static_cast<std::uint8_t>(&arena - arenas); }

Arena& arena_by_number(std::uint8_t number) { return arenas[number]; }

void choose_pages(Arena& arena) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which Debian 12's C library lacks
  if (!arena.is_small || arena.hot - arena.base < kHugePage / 2) return;
  arena.is_small = false;
  const auto begin = reinterpret_cast<long>(arena.base);
  raw_syscall(SYS_madvise, begin, kHugePage, MADV_HUGEPAGE);
  raw_syscall(SYS_madvise, begin, kHugePage, kCollapse);
}

std::size_t cold_room(const Arena& arena) {
  return static_cast<std::size_t>(arena.base + arena_bytes - arena.cold);
}

bool reaches_from_everywhere(const std::uint8_t* at, std::uint64_t target) {
  constexpr std::int64_t kDisplacement = std::int64_t{1} << 31;
  constexpr std::int64_t kMargin = kMostArenaBytes + 16;  // the longest instruction
  const auto distance = static_cast<std::int64_t>(target - reinterpret_cast<std::uint64_t>(at));
  if (distance > kMargin - kDisplacement && distance < kDisplacement - kMargin) return true;
  const Arena* arena = arena_of_code(at);
  const auto from =
      static_cast<std::int64_t>(target - reinterpret_cast<std::uint64_t>(arena->base));
  const auto bytes = static_cast<std::int64_t>(arena_bytes);
  return from - bytes - 16 >= -kDisplacement && from < kDisplacement;
}

std::uint8_t* far_jump(std::uint64_t near, std::uint64_t target) {
  constexpr std::size_t kBytes = 24;
  Arena* arena = arena_of_code(reinterpret_cast<const std::uint8_t*>(near));
  if (cold_room(*arena) < kBytes) return nullptr;
  Emitter out(arena->cold);
  out.align(8);
  out.quad(target);
  std::uint8_t* made = out.at();
  out.bytes({0xff, 0x25});  // JMP [RIP - 14]
  out.word(static_cast<std::uint32_t>(-14));
  arena->cold = out.at();
  return made;
}

const Arena* arena_of(std::uint64_t address) {
  const std::size_t count = __atomic_load_n(&arena_count, __ATOMIC_ACQUIRE);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* base = __atomic_load_n(&arenas[i].base, __ATOMIC_ACQUIRE);
    if (base == nullptr) continue;
    if (address - reinterpret_cast<std::uint64_t>(base) < arena_bytes) return &arenas[i];
  }
  return nullptr;
}

std::uint64_t arena_address(std::uint32_t low) {
  const std::size_t count = __atomic_load_n(&arena_count, __ATOMIC_ACQUIRE);
  for (std::size_t i = 0; i < count; ++i) {
    const auto base =
        reinterpret_cast<std::uint64_t>(__atomic_load_n(&arenas[i].base, __ATOMIC_ACQUIRE));
    const std::uint32_t behind = low - static_cast<std::uint32_t>(base);
    if (base != 0 && behind < arena_bytes) return base + behind;
  }
  return 0;
}

void size_arenas(std::uint64_t cache_bytes) {
  arena_bytes =
      std::clamp<std::size_t>(std::bit_floor(cache_bytes / 8), kLeastArenaBytes, kMostArenaBytes);
}

std::uint64_t arena_bytes_used(std::uint32_t edition) {
  std::uint64_t bytes = 0;
  each_of(edition, [&](const Arena& arena) {
    bytes += static_cast<std::uint64_t>(arena.hot - arena.base);
    bytes += static_cast<std::uint64_t>(arena.cold - arena.base) - arena_bytes / 2;
    bytes += arena.fragment_count * sizeof(FragmentPlace) + arena.map_used;
  });
  return bytes;
}

void trap_head(std::uint8_t* head) {
  constexpr std::uint8_t kInt3 = 0xcc;
  __atomic_store_n(head, kInt3, __ATOMIC_RELAXED);
}

void trap_heads(std::uint32_t edition) {
  each_of(edition, [](const Arena& arena) {
    for (std::uint32_t i = 0; i < arena.fragment_count; ++i) {
      trap_head(arena.base + arena.fragments[i].begin);
    }
  });
}

void free_arenas(std::uint32_t edition) {
  bool any = false;
  each_of(edition, [&](const Arena&) { any = true; });
  if (!any) return;
  each_of(kNone, [](Arena& arena) {
    const auto start = reinterpret_cast<std::uint64_t>(arena.base);
    __atomic_store_n(&arena.base, nullptr, __ATOMIC_RELEASE);
    unmap_memory(start, arena_bytes);
    unmap_memory(reinterpret_cast<std::uint64_t>(arena.fragments), table_bytes());
  });
  each_of(edition, [](Arena& arena) {
    arena.edition = kNone;
    arena.fragment_count = 0;
    empty_memory(reinterpret_cast<std::uint64_t>(arena.base), arena_bytes);
    empty_memory(reinterpret_cast<std::uint64_t>(arena.fragments), table_bytes());
  });
  std::ranges::fill(crowded, 0);
}

}  // namespace hodo::engine
