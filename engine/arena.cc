#include "arena.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "emitter.h"
#include "glue.h"
#include "memory.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[];

namespace {

constexpr std::size_t kMaxArenas = 256;
// How far code may lie from what it stands for: displacements reach 2 GB, and those of operands
// are to go on reaching. Programs whose memory is full nearby have to do with the second.
constexpr std::uint64_t kNear = std::uint64_t{1} << 30;
constexpr std::uint64_t kReach = (std::uint64_t{2} << 30) - (std::uint64_t{256} << 20);

Arena arenas[kMaxArenas];
std::size_t arena_count = 0;

std::uint8_t* map_arena(std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), Arena::kBytes,
                               PROT_READ | PROT_WRITE | PROT_EXEC, kOnlyThere, -1, 0);
  if (got != static_cast<long>(at)) return nullptr;
  raw_syscall(SYS_madvise, got, Arena::kBytes, MADV_HUGEPAGE);
  note_own(at, Arena::kBytes);
  return reinterpret_cast<std::uint8_t*>(got);
}

// The first free place below `ip`, then above it; null: none is so near.
std::uint8_t* find_place(std::uint64_t ip, std::uint64_t reach) {
  const std::uint64_t home = ip & ~(Arena::kBytes - 1);
  for (std::uint64_t distance = Arena::kBytes; distance < reach - Arena::kBytes;
       distance += Arena::kBytes) {
    if (home > distance + 0x10000) {
      if (std::uint8_t* got = map_arena(home - distance)) return got;
    }
    if (home + distance < 0x7fff'0000'0000) {
      if (std::uint8_t* got = map_arena(home + distance)) return got;
    }
  }
  return nullptr;
}

void map_tables(Arena& arena) {
  constexpr std::size_t kFragmentBytes = Arena::kFragments * sizeof(FragmentPlace);
  void* got = map_memory(kFragmentBytes + Arena::kMapBytes);
  arena.fragments = static_cast<FragmentPlace*>(got);
  arena.map = static_cast<std::uint8_t*>(got) + kFragmentBytes;
}

void write_glue(const Arena& arena) {
  void (*const entries[kGlues])() = {glue_exit,  glue_flush, glue_miss,      glue_return,
                                     glue_check, glue_block, glue_block_keep};
  for (unsigned i = 0; i < kGlues; ++i) {
    Emitter out(arena.glue(static_cast<Glue>(i)));
    out.bytes({0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90});  // JMP [RIP + 2]
    out.quad(reinterpret_cast<std::uint64_t>(entries[i]));
  }
}

bool lies_near(const Arena& arena, std::uint64_t ip, std::uint64_t reach) {
  const auto here = reinterpret_cast<std::uint64_t>(arena.base);
  return ip > here ? ip - here < reach : here + Arena::kBytes - ip < reach;
}

// With room; null: there is none.
Arena* find_arena(std::uint64_t ip, std::uint64_t reach) {
  constexpr std::ptrdiff_t kRoom = 1 << 16;  // more than one fragment takes
  for (std::size_t i = arena_count; i-- > 0;) {
    const Arena& arena = arenas[i];
    const std::uint8_t* middle = arena.base + Arena::kBytes / 2;
    if (lies_near(arena, ip, reach) && middle - arena.hot > kRoom &&
        arena.base + Arena::kBytes - arena.cold > kRoom) {
      return &arenas[i];
    }
  }
  return nullptr;
}

Arena& make_arena(std::uint8_t* place) {
  if (arena_count == kMaxArenas) die("too many arenas of translated code", arena_count);
  Arena& arena = arenas[arena_count];
  arena.base = place;
  arena.hot = arena.base + 16 * 8;
  arena.cold = arena.base + Arena::kBytes / 2;
  map_tables(arena);
  write_glue(arena);
  __atomic_store_n(&arena_count, arena_count + 1, __ATOMIC_RELEASE);
  return arena;
}

}  // namespace

Arena& arena_near(std::uint64_t ip) {
  for (const std::uint64_t reach : {kNear, kReach}) {
    if (Arena* arena = find_arena(ip, reach)) return *arena;
    if (std::uint8_t* place = find_place(ip, reach)) return make_arena(place);
  }
  // Programs have nothing there: nothing can be copied that would have to lie near.
  const bool beyond = ip >> 47 != 0;
  if (beyond) return arena_near(reinterpret_cast<std::uint64_t>(__executable_start));
  die("no room for translated code near", ip);
}

std::uint8_t* far_jump(std::uint64_t near, std::uint64_t target) {
  constexpr std::ptrdiff_t kBytes = 24;
  Arena* arena = arena_of_code(reinterpret_cast<const std::uint8_t*>(near));
  if (arena->base + Arena::kBytes - arena->cold < kBytes) return nullptr;
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
    if (address - reinterpret_cast<std::uint64_t>(arenas[i].base) < Arena::kBytes) {
      return &arenas[i];
    }
  }
  return nullptr;
}

}  // namespace hodo::engine
