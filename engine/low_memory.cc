#include "low_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[], _end[];

namespace {

// The tables grow by so much at a time. They begin below what MAP_32BIT gives (mm/mmap.c), and
// above the heaps of most programs that lie at a fixed place.
constexpr std::uint64_t kChunk = 0x400'0000;
constexpr std::uint64_t kFirstChunk = 0x3bc0'0000, kLowest = 0x800'0000, kHighest = 0x7c00'0000;

std::uint64_t low = 0, low_end = 0;  // of the chunk in use, what is free

bool map_chunk(std::uint64_t at) {
  const long got = raw_syscall(SYS_mmap, static_cast<long>(at), kChunk, PROT_READ | PROT_WRITE,
                               kOnlyThere, -1, 0);
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

}  // namespace

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

}  // namespace hodo::engine
