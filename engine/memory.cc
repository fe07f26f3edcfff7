#include "memory.h"

#include <sys/syscall.h>

#include <cstring>
#include <initializer_list>

#include "hodo/base/page.h"
#include "reserve.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[], _end[];

namespace {

// Where other memory of the engine begins: below what the kernel gives to programs, so that the
// place near their code stays free. Within the addresses that ThreadSanitizer takes for a
// program's.
constexpr std::uint64_t kElsewhere = 0x7ea0'0000'0000;

std::uint64_t elsewhere = kElsewhere;

// What the engine has mapped. A place is free (start 0), being filled in (1), or holds. Without a
// lock: a process may be forked while another thread is in here.
struct OwnRange {
  std::uint64_t start, end;
  bool shared;  // no data of the process
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

std::uint64_t sum_of_own(bool with_shared) {
  const std::size_t used = __atomic_load_n(&own_used, __ATOMIC_ACQUIRE);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t from = start_of(own[i]);
    if (from > 1 && (with_shared || !own[i].shared)) sum += own[i].end - from;
  }
  return sum;
}

}  // namespace

void note_own(std::uint64_t start, std::uint64_t bytes, bool shared) {
  for (std::size_t i = 0; i < kMostOwn; ++i) {
    if (!claim(own[i])) continue;
    own[i].end = start + bytes;
    own[i].shared = shared;
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
    const bool shared = own[i].shared;
    if (from <= 1 || from >= end || to <= start) continue;
    if (from < start) note_own(from, start - from, shared);
    if (to > end) note_own(end, to - end, shared);
    __atomic_store_n(&own[i].start, 0, __ATOMIC_RELEASE);
  }
}

void note_own_image() {
  const auto image = reinterpret_cast<std::uint64_t>(__executable_start);
  const std::uint64_t end = (reinterpret_cast<std::uint64_t>(_end) + kPage - 1) & ~(kPage - 1);
  note_own(image, end - image);
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

std::uint64_t own_bytes() { return sum_of_own(true); }
std::uint64_t own_data() { return sum_of_own(false) + reserve_data(); }

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

void* try_map_memory(std::size_t bytes) {
  const long got =
      raw_syscall(SYS_mmap, place_elsewhere(bytes), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(got)) return take_reserve(bytes);
  note_own(static_cast<std::uint64_t>(got), bytes);
  return reinterpret_cast<void*>(got);
}

void* map_memory(std::size_t bytes) {
  void* got = try_map_memory(bytes);
  if (got == nullptr) die("no memory for its tables", bytes);
  return got;
}

void empty_memory(std::uint64_t start, std::size_t bytes) {
  constexpr long kDontNeedLocked = 24;  // MADV_DONTNEED_LOCKED of Linux 5.18
  for (const long how : {kDontNeedLocked, long{MADV_DONTNEED}}) {
    const auto size = static_cast<long>(bytes);
    if (!failed(raw_syscall(SYS_madvise, static_cast<long>(start), size, how))) return;
  }
  std::memset(reinterpret_cast<void*>(start), 0, bytes);
}

std::uint64_t map_addresses(std::size_t bytes) {
  const long got = raw_syscall(SYS_mmap, place_elsewhere(bytes), static_cast<long>(bytes),
                               PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(got)) return reinterpret_cast<std::uint64_t>(take_reserve(bytes));
  note_own(static_cast<std::uint64_t>(got), bytes, true);
  return static_cast<std::uint64_t>(got);
}

std::uint64_t map_shared(long file, std::uint64_t offset, std::size_t bytes) {
  const auto map = [=](long where, int flags) {
    return raw_syscall(SYS_mmap, where, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                       MAP_SHARED | flags, file, static_cast<long>(offset));
  };
  const long got = map(place_elsewhere(bytes), 0);
  if (!failed(got)) {
    note_own(static_cast<std::uint64_t>(got), bytes, true);
    return static_cast<std::uint64_t>(got);
  }
  const auto place = reinterpret_cast<std::uint64_t>(take_reserve(bytes));
  if (place == 0 || !failed(map(static_cast<long>(place), MAP_FIXED))) return place;
  unmap_addresses(place, bytes);
  return 0;
}

void forget_addresses(std::uint64_t start, std::size_t bytes) {
  if (!restore_reserve(start, bytes)) forget_own(start, bytes);
}

void unmap_addresses(std::uint64_t start, std::size_t bytes) {
  if (restore_reserve(start, bytes)) return;
  forget_own(start, bytes);
  raw_syscall(SYS_munmap, static_cast<long>(start), static_cast<long>(bytes));
}

void unmap_memory(std::uint64_t start, std::size_t bytes) {
  if (give_to_reserve(start, bytes)) return;
  forget_own(start, bytes);
  raw_syscall(SYS_munmap, static_cast<long>(start), static_cast<long>(bytes));
}

}  // namespace hodo::engine
