#include "reserve.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kPiece = 64 << 10;
constexpr std::size_t kMostPieces = (std::size_t{256} << 20) / kPiece;
// So much at a time becomes memory that can be written to; the first at once, as later the kernel
// may refuse that, too.
constexpr std::uint64_t kStep = 4 << 20;

std::uint64_t base = 0;  // 0: there is none
std::size_t pieces = 0;
std::uint64_t writable = 0;  // bytes from `base` on
// Without a lock: a process may be forked while another thread is in here.
std::uint8_t taken[kMostPieces];

bool claim(std::size_t piece) {
  std::uint8_t free = 0;
  return __atomic_compare_exchange_n(&taken[piece], &free, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

void release(std::size_t from, std::size_t to) {
  for (; from < to; ++from) __atomic_store_n(&taken[from], 0, __ATOMIC_RELEASE);
}

bool is_of_reserve(std::uint64_t start) { return start - base < pieces * kPiece; }

void release_bytes(std::uint64_t start, std::size_t bytes) {
  const std::size_t first = (start - base) / kPiece;
  release(first, first + (bytes + kPiece - 1) / kPiece);
}

// All of it from the beginning to there: one mapping, as long as the kernel can join them.
bool make_writable(std::uint64_t to) {
  std::uint64_t known = __atomic_load_n(&writable, __ATOMIC_ACQUIRE);
  if (to <= known) return true;
  to = std::min((to + kStep - 1) / kStep * kStep, pieces * kPiece);
  if (failed(raw_syscall(SYS_mprotect, static_cast<long>(base), static_cast<long>(to),
                         PROT_READ | PROT_WRITE))) {
    return false;
  }
  while (known < to && !__atomic_compare_exchange_n(&writable, &known, to, false, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_ACQUIRE)) {
  }
  return true;
}

}  // namespace

void make_reserve() {
  constexpr std::uint64_t kPart = 16;  // where addresses are few, most are the program's
  std::uint64_t bytes = kMostPieces * kPiece;
  rlimit limit{};
  if (!failed(raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, reinterpret_cast<long>(&limit)))) {
    bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur / kPart / kPiece * kPiece);
  }
  const long got = raw_syscall(SYS_mmap, place_elsewhere(bytes), static_cast<long>(bytes),
                               PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(got)) return;
  base = static_cast<std::uint64_t>(got);
  pieces = bytes / kPiece;
  note_own(base, bytes, true);  // reserve_data() is what counts as data
  make_writable(std::min(kStep, bytes));
}

void* take_reserve(std::size_t bytes) {
  const std::size_t count = (bytes + kPiece - 1) / kPiece;
  for (std::size_t first = 0; first + count <= pieces; ++first) {
    std::size_t end = first;
    while (end < first + count && claim(end)) ++end;
    if (end == first + count) {
      if (make_writable(end * kPiece)) return reinterpret_cast<void*>(base + first * kPiece);
      release(first, end);
      return nullptr;
    }
    release(first, end);
    first = end;  // somebody else has it
  }
  return nullptr;
}

bool give_to_reserve(std::uint64_t start, std::size_t bytes) {
  if (!is_of_reserve(start)) return false;
  empty_memory(start, bytes);
  release_bytes(start, bytes);
  return true;
}

bool restore_reserve(std::uint64_t start, std::size_t bytes) {
  if (!is_of_reserve(start)) return false;
  const long put = raw_syscall(SYS_mmap, static_cast<long>(start), static_cast<long>(bytes),
                               PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (!failed(put)) release_bytes(start, bytes);  // else it stays taken
  return true;
}

std::uint64_t reserve_data() { return __atomic_load_n(&writable, __ATOMIC_ACQUIRE); }

}  // namespace hodo::engine
