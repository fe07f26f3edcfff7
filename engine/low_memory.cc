#include "low_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// An edition takes so much at a time, less where the program's own memory reaches nearly as far as
// the engine (static arrays of 2 GB). The first piece lies below the engine's image, as far as can
// be from the heap of a program at a fixed place, which begins within 1 GB behind it
// (arch_randomize_brk() in the kernel), and at the end of what MAP_32BIT gives, which begins at 1
// GB.
constexpr std::uint64_t kMostChunkBytes = 0x400'0000, kLeastChunkBytes = 0x40'0000;
constexpr std::uint64_t kEnd = 0x7ec0'0000, kLowest = 0x800'0000;
// Behind the image, where nothing else is left: that is what MAP_32BIT gives first.
constexpr std::uint64_t kLastStart = 0x7f00'0000, kLastEnd = 0x8000'0000;

// What an edition leaves is kept for the next one: the program, or a table of the engine, could
// come to lie there, and nothing else be free.
struct Chunk {
  std::uint64_t start = 0;    // 0: there is none
  std::uint32_t edition = 0;  // 0: none has it
};
constexpr std::size_t kMostChunks = 512;
Chunk chunks[kMostChunks];

std::uint64_t chunk_bytes = kMostChunkBytes;
std::uint32_t chunk_edition = 0;
std::uint64_t free_start = 0, free_end = 0;  // what is free of the newest chunk
std::uint64_t used_bytes = 0;

bool begin_chunk(Chunk& chunk) {
  chunk.edition = chunk_edition;
  free_start = chunk.start;
  free_end = chunk.start + chunk_bytes;
  return true;
}

bool map_chunk(Chunk& chunk, std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(chunk_bytes),
                               PROT_READ | PROT_WRITE, kOnlyThere, -1, 0);
  if (got != static_cast<long>(at)) return false;
  if (chunk_bytes == kMostChunkBytes) {
    raw_syscall(SYS_madvise, got, static_cast<long>(chunk_bytes), MADV_HUGEPAGE);
  }
  note_own(at, chunk_bytes);
  chunk.start = at;
  return begin_chunk(chunk);
}

template <class Test>
Chunk* chunk_that(Test test) {
  Chunk* const found = std::find_if(std::begin(chunks), std::end(chunks), test);
  return found == std::end(chunks) ? nullptr : found;
}

bool find_chunk() {
  const auto is_left = [](const Chunk& one) { return one.start != 0 && one.edition == 0; };
  if (Chunk* const left = chunk_that(is_left)) return begin_chunk(*left);
  Chunk* const chunk = chunk_that([](const Chunk& one) { return one.start == 0; });
  if (chunk == nullptr) return false;
  for (;; chunk_bytes /= 2) {
    for (std::uint64_t at = kEnd - chunk_bytes; at >= kLowest; at -= chunk_bytes) {
      if (map_chunk(*chunk, at)) return true;
    }
    // All have the same size.
    const bool is_first = chunk_that([](const Chunk& one) { return one.start != 0; }) == nullptr;
    if (!is_first || chunk_bytes == kLeastChunkBytes) break;
  }
  for (std::uint64_t at = kLastStart; at + chunk_bytes <= kLastEnd; at += chunk_bytes) {
    if (map_chunk(*chunk, at)) return true;
  }
  return false;
}

}  // namespace

void size_low(std::uint64_t cache_bytes) {
  static_assert(kLeastChunkBytes % kHugePage == 0);
  chunk_bytes = std::clamp(std::bit_floor(cache_bytes / 4), kLeastChunkBytes, kMostChunkBytes);
}

void begin_low(std::uint32_t edition) {
  chunk_edition = edition;
  free_start = free_end = used_bytes = 0;
}

void free_low(std::uint32_t edition) {
  const auto is_its = [edition](const Chunk& one) { return one.edition == edition; };
  if (chunk_that(is_its) == nullptr) return;
  for (Chunk& chunk : chunks) {
    if (chunk.start == 0) continue;
    if (is_its(chunk)) {
      empty_memory(chunk.start, chunk_bytes);
      chunk.edition = 0;
    } else if (chunk.edition == 0) {
      unmap_memory(chunk.start, chunk_bytes);
      chunk = {};
    }
  }
}

bool low_is_ready() {
  constexpr std::uint64_t kRoom = 1 << 16;
  return (free_start < free_end && free_end - free_start > kRoom) || find_chunk();
}

std::uint64_t low_bytes_used() { return used_bytes; }

void* allocate_low(std::size_t bytes, std::size_t alignment) {
  free_start = (free_start + alignment - 1) & ~(alignment - 1);
  if ((free_start >= free_end || bytes > free_end - free_start) && !find_chunk()) {
    die("no memory below 2 GB for its tables", bytes);
  }
  void* got = reinterpret_cast<void*>(free_start);
  free_start += bytes;
  used_bytes += bytes;
  return got;
}

}  // namespace hodo::engine
