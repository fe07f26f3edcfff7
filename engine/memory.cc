#include "memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "emitter.h"
#include "glue.h"
#include "sys.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kLow = 0x7100'0000;  // behind the engine's own image
constexpr std::uint64_t kLowBytes = 0x0800'0000;
constexpr std::size_t kMaxArenas = 256;
constexpr std::uint64_t kReach = std::uint64_t{1} << 30;

std::uint64_t low_used = 0;
Arena arenas[kMaxArenas];
std::size_t arena_count = 0;

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

void map_low() {
  const long got =
      raw_syscall(SYS_mmap, kLow, kLowBytes, PROT_READ | PROT_WRITE, kAnonymous, -1, 0);
  if (got != static_cast<long>(kLow)) die("the addresses of its tables are taken", kLow);
  raw_syscall(SYS_madvise, kLow, kLowBytes, MADV_HUGEPAGE);
}

std::uint8_t* map_arena(std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), Arena::kBytes,
                               PROT_READ | PROT_WRITE | PROT_EXEC, kAnonymous, -1, 0);
  if (got != static_cast<long>(at)) return nullptr;
  raw_syscall(SYS_madvise, got, Arena::kBytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::uint8_t*>(got);
}

// The first free place below `ip`, then above it.
std::uint8_t* find_place(std::uint64_t ip) {
  const std::uint64_t home = ip & ~(Arena::kBytes - 1);
  for (std::uint64_t distance = Arena::kBytes; distance < kReach - Arena::kBytes;
       distance += Arena::kBytes) {
    if (home > distance + 0x10000) {
      if (std::uint8_t* got = map_arena(home - distance)) return got;
    }
    if (home + distance < 0x7fff'0000'0000) {
      if (std::uint8_t* got = map_arena(home + distance)) return got;
    }
  }
  die("no room for translated code near", ip);
}

void map_tables(Arena& arena) {
  constexpr std::size_t kFragmentBytes = Arena::kFragments * sizeof(FragmentPlace);
  const long got =
      raw_syscall(SYS_mmap, 0, kFragmentBytes + Arena::kMapBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(got)) die("no memory for its tables", static_cast<std::uint64_t>(-got));
  arena.fragments = reinterpret_cast<FragmentPlace*>(got);
  arena.map = reinterpret_cast<std::uint8_t*>(got) + kFragmentBytes;
}

void write_glue(const Arena& arena) {
  void (*const entries[kGlues])() = {glue_exit, glue_full,   glue_flush,
                                     glue_miss, glue_return, glue_check};
  for (unsigned i = 0; i < kGlues; ++i) {
    Emitter out(arena.glue(static_cast<Glue>(i)));
    out.bytes({0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90});  // JMP [RIP + 2]
    out.quad(reinterpret_cast<std::uint64_t>(entries[i]));
  }
}

}  // namespace

void* allocate_low(std::size_t bytes, std::size_t alignment) {
  if (low_used == 0) map_low();
  low_used = (low_used + alignment - 1) & ~(alignment - 1);
  if (bytes > kLowBytes - low_used) die("its tables are full", low_used);
  void* got = reinterpret_cast<void*>(kLow + low_used);
  low_used += bytes;
  return got;
}

bool Arena::near(std::uint64_t ip) const {
  const auto here = reinterpret_cast<std::uint64_t>(base);
  return ip > here ? ip - here < kReach : here + kBytes - ip < kReach;
}

Arena& arena_near(std::uint64_t ip) {
  constexpr std::ptrdiff_t kRoom = 1 << 16;  // more than one fragment takes
  for (std::size_t i = arena_count; i-- > 0;) {
    const Arena& arena = arenas[i];
    const std::uint8_t* middle = arena.base + Arena::kBytes / 2;
    if (arena.near(ip) && middle - arena.hot > kRoom &&
        arena.base + Arena::kBytes - arena.cold > kRoom) {
      return arenas[i];
    }
  }
  if (arena_count == kMaxArenas) die("too many arenas of translated code", arena_count);
  Arena& arena = arenas[arena_count];
  arena.base = find_place(ip);
  arena.hot = arena.base + 16 * 8;
  arena.cold = arena.base + Arena::kBytes / 2;
  map_tables(arena);
  write_glue(arena);
  __atomic_store_n(&arena_count, arena_count + 1, __ATOMIC_RELEASE);
  return arena;
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
