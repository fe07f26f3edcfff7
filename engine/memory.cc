#include "memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "emitter.h"
#include "glue.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[], _end[];

namespace {

// The tables grow by so much at a time. They begin below what MAP_32BIT gives (mm/mmap.c), and
// above the heaps of most programs that lie at a fixed place.
constexpr std::uint64_t kChunk = 0x400'0000;
constexpr std::uint64_t kFirstChunk = 0x3bc0'0000, kLowest = 0x800'0000, kHighest = 0x7c00'0000;
constexpr std::size_t kMaxArenas = 256;
// How far code may lie from what it stands for: displacements reach 2 GB, and those of operands
// are to go on reaching. Programs whose memory is full nearby have to do with the second.
constexpr std::uint64_t kNear = std::uint64_t{1} << 30;
constexpr std::uint64_t kReach = (std::uint64_t{2} << 30) - (std::uint64_t{256} << 20);
// Where other memory of the engine begins: below what the kernel gives to programs, so that the
// place near their code stays free. Within the addresses that ThreadSanitizer takes for a
// program's.
constexpr std::uint64_t kElsewhere = 0x7ea0'0000'0000;

std::uint64_t elsewhere = kElsewhere;

std::uint64_t low = 0, low_end = 0;  // of the chunk in use, what is free
Arena arenas[kMaxArenas];
std::size_t arena_count = 0;

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

// What the engine has mapped. A place is free (start 0), being filled in (1), or holds. Without a
// lock: a process may be forked while another thread is in here.
struct OwnRange {
  std::uint64_t start, end;
};
constexpr std::size_t kMostOwn = 1 << 14;
OwnRange own[kMostOwn];
std::size_t own_used = 0;  // places behind that have never been taken

std::uint64_t start_of(const OwnRange& range) {
  return __atomic_load_n(&range.start, __ATOMIC_ACQUIRE);
}

bool claim(OwnRange& range) {
  std::uint64_t nothing = 0;
  return __atomic_compare_exchange_n(&range.start, &nothing, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

bool map_chunk(std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), kChunk, PROT_READ | PROT_WRITE,
                               kAnonymous, -1, 0);
  if (got != static_cast<long>(at)) return false;
  raw_syscall(SYS_madvise, got, kChunk, MADV_HUGEPAGE);
  note_own(at, kChunk);
  low = at;
  low_end = at + kChunk;
  return true;
}

void find_chunk() {
  for (std::uint64_t at = kFirstChunk; at >= kLowest; at -= kChunk) {
    if (map_chunk(at)) return;
  }
  for (std::uint64_t at = kFirstChunk + kChunk; at <= kHighest; at += kChunk) {
    if (map_chunk(at)) return;
  }
  die("the addresses below 2 GB are taken");
}

std::uint8_t* map_arena(std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), Arena::kBytes,
                               PROT_READ | PROT_WRITE | PROT_EXEC, kAnonymous, -1, 0);
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

void note_own(std::uint64_t start, std::uint64_t bytes) {
  for (std::size_t i = 0; i < kMostOwn; ++i) {
    if (!claim(own[i])) continue;
    own[i].end = start + bytes;
    __atomic_store_n(&own[i].start, start, __ATOMIC_RELEASE);
    std::size_t used = __atomic_load_n(&own_used, __ATOMIC_ACQUIRE);
    while (used < i + 1 && !__atomic_compare_exchange_n(&own_used, &used, i + 1, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return;
  }
}

void forget_own(std::uint64_t start, std::uint64_t bytes) {
  const std::uint64_t end = start + bytes;
  const std::size_t used = __atomic_load_n(&own_used, __ATOMIC_ACQUIRE);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t from = start_of(own[i]);
    const std::uint64_t to = own[i].end;
    if (from <= 1 || from >= end || to <= start) continue;
    if (from < start) note_own(from, start - from);
    if (to > end) note_own(end, to - end);
    __atomic_store_n(&own[i].start, 0, __ATOMIC_RELEASE);
  }
}

bool is_own(std::uint64_t start, std::uint64_t bytes) {
  const std::size_t used = __atomic_load_n(&own_used, __ATOMIC_ACQUIRE);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t from = start_of(own[i]);
    if (from <= 1) continue;
    if (start - from < own[i].end - from || from - start < bytes) return true;
  }
  return false;
}

void unmap_all_but_image() {
  const auto image = reinterpret_cast<std::uint64_t>(__executable_start);
  for (std::size_t i = 0; i < own_used; ++i) {
    const OwnRange& range = own[i];
    if (range.start <= 1 || range.start == image) continue;
    raw_syscall(SYS_munmap, static_cast<long>(range.start),
                static_cast<long>(range.end - range.start));
  }
}

long place_elsewhere(std::size_t bytes) {
  constexpr std::uint64_t kApart = std::uint64_t{1} << 21;
  const std::uint64_t room = (bytes + 2 * kApart - 1) & ~(kApart - 1);
  return static_cast<long>(__atomic_fetch_add(&elsewhere, room, __ATOMIC_RELAXED));
}

void* map_memory(std::size_t bytes) {
  const long got =
      raw_syscall(SYS_mmap, place_elsewhere(bytes), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(got)) die("no memory for its tables", static_cast<std::uint64_t>(-got));
  note_own(static_cast<std::uint64_t>(got), bytes);
  return reinterpret_cast<void*>(got);
}

void unmap_memory(std::uint64_t start, std::size_t bytes) {
  forget_own(start, bytes);
  raw_syscall(SYS_munmap, static_cast<long>(start), static_cast<long>(bytes));
}

void* allocate_low(std::size_t bytes, std::size_t alignment) {
  if (low == 0) {
    const auto image = reinterpret_cast<std::uint64_t>(__executable_start);
    note_own(image, reinterpret_cast<std::uint64_t>(_end) - image);
  }
  low = (low + alignment - 1) & ~(alignment - 1);
  if (low >= low_end || bytes > low_end - low) find_chunk();
  void* got = reinterpret_cast<void*>(low);
  low += bytes;
  return got;
}

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
