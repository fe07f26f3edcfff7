#include "memory_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "code_pages.h"
#include "code_report.h"
#include "decimal.h"
#include "edition.h"
#include "lock.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// One of these files has been opened: until then writes are not looked at.
std::atomic<bool> is_open = false;

// The string at `from` of the program's ends in `end`. As far as the kernel reads a path.
bool ends_in(std::uint64_t from, const char* end) {
  constexpr unsigned kMost = 4096;
  const std::size_t length = std::strlen(end);
  char last[8] = {};
  for (unsigned i = 0; i < kMost; ++i) {
    char c = 0;
    if (!read_program(&c, from + i, 1)) return false;
    if (c == 0) return i >= length && std::memcmp(last + sizeof(last) - length, end, length) == 0;
    std::memmove(last, last + 1, sizeof(last) - 1);
    last[sizeof(last) - 1] = c;
  }
  return false;
}

// What the descriptor is of: "/proc/ID/mem" or "/proc/ID/task/TID/mem", ID being this process, or
// one of its threads, which the kernel takes as well.
bool is_own_memory(std::uint64_t descriptor) {
  char link[48] = "/proc/thread-self/fd/";
  put_decimal(link + std::strlen(link), static_cast<std::uint32_t>(descriptor));
  char path[64];
  const long got = raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(link),
                               reinterpret_cast<long>(path), static_cast<long>(sizeof(path)));
  if (failed(got)) return false;
  std::string_view rest(path, static_cast<std::size_t>(got));
  constexpr std::string_view kFolder = "/proc/";
  if (!rest.starts_with(kFolder)) return false;
  rest.remove_prefix(kFolder.size());
  long id = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    id = 10 * id + (rest[0] - '0');
    rest.remove_prefix(1);
  }
  if (!rest.starts_with("/") || failed(raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), id, 0))) {
    return false;
  }
  rest.remove_prefix(1);
  return rest == "mem" || (rest.starts_with("task/") && rest.ends_with("/mem"));
}

std::uint64_t position_of(std::uint64_t descriptor) {
  return static_cast<std::uint64_t>(
      raw_syscall(SYS_lseek, static_cast<long>(descriptor), 0, SEEK_CUR));
}

}  // namespace

void note_opened(const ThreadArea& area, long result) {
  const Registers& r = area.registers;
  if (failed(result) || is_open.load(std::memory_order_relaxed)) return;
  if (ends_in(r.rax == SYS_open ? r.rdi : r.rsi, "mem")) is_open = true;
}

MemoryWrite memory_write(const ThreadArea& area) {
  const Registers& r = area.registers;
  if (!is_open.load(std::memory_order_relaxed) || !is_own_memory(r.rdi)) return {};
  switch (r.rax) {
    case SYS_pwritev2:
      if (area.taken[0] == ~std::uint64_t{0}) break;
      [[fallthrough]];
    case SYS_pwrite64:
    case SYS_pwritev:
      return {.known = true, .start = area.taken[0]};
    default:
      break;
  }
  return {.known = true, .start = position_of(r.rdi)};
}

void note_written(ThreadArea& area, const MemoryWrite& write, long result) {
  if (!write.known || failed(result) || result == 0) return;
  const auto bytes = static_cast<std::uint64_t>(result);
  const Locked locked;
  report_unmapped(write.start, bytes);
  if (code_overwritten(write.start, bytes)) begin_anew(area);
}

}  // namespace hodo::engine
