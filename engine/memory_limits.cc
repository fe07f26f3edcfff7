#include "memory_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "hodo/base/page.h"
#include "memory.h"
#include "own_files.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// More than addresses have, and so that it is still less than RLIM_INFINITY.
constexpr rlim_t kRaised = rlim_t{1} << 62;

struct Kind {
  unsigned resource;
  std::string_view line;  // of /proc/PID/status, how it begins: what the kernel counts, in KB
  std::uint64_t (*own)();
};
constexpr Kind kAddresses{RLIMIT_AS, "\nVmSize:", own_bytes};
constexpr Kind kData{RLIMIT_DATA, "\nVmData:", own_data};

// Whether to look at all: a process without limits never had any that were set here.
bool may_be_limited = false;

bool is_raised(rlim_t limit) { return limit >= kRaised && limit != RLIM_INFINITY; }
rlim_t raised(rlim_t limit) { return limit < kRaised ? limit + kRaised : limit; }
rlim_t lowered(rlim_t limit) { return is_raised(limit) ? limit - kRaised : limit; }
rlimit raised(const rlimit& of) { return {raised(of.rlim_cur), raised(of.rlim_max)}; }
rlimit lowered(const rlimit& of) { return {lowered(of.rlim_cur), lowered(of.rlim_max)}; }

bool read_limit(unsigned resource, rlimit& out) {
  return !failed(raw_syscall(SYS_prlimit64, 0, resource, 0, reinterpret_cast<long>(&out)));
}

bool set_limit(unsigned resource, const rlimit& to) {
  return !failed(raw_syscall(SYS_prlimit64, 0, resource, reinterpret_cast<long>(&to), 0));
}

// Of /proc/thread-self/status, bytes; nullopt: it is not to be had.
std::optional<std::uint64_t> counted(std::string_view name) {
  char text[4096];
  const long got = with_descriptor([&] {
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/thread-self/status"),
                    O_RDONLY | O_CLOEXEC);
    if (failed(file)) return file;
    const long read = raw_syscall(SYS_read, file, reinterpret_cast<long>(text), sizeof(text));
    raw_syscall(SYS_close, file);
    return read;
  });
  if (failed(got)) return std::nullopt;
  const std::string_view status(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  std::size_t at = 0;
  while (at < status.size() && !status.substr(at).starts_with(name)) ++at;
  if (at == status.size()) return std::nullopt;
  at += name.size();
  while (at < status.size() && (status[at] == ' ' || status[at] == '\t')) ++at;
  std::uint64_t kilobytes = 0;
  for (; at < status.size() && status[at] >= '0' && status[at] <= '9'; ++at) {
    kilobytes = 10 * kilobytes + static_cast<std::uint64_t>(status[at] - '0');
  }
  return kilobytes << 10;
}

bool is_of_memory(std::uint64_t resource) {
  return resource == RLIMIT_AS || resource == RLIMIT_DATA;
}

// No data at all is what only brk() takes at its word: other mappings have the hard limit then
// (may_expand_vm() of the kernel's mm, for Valgrind).
rlim_t limit_of(const Kind& kind, const rlimit& limit, Counts as) {
  const rlim_t soft = lowered(limit.rlim_cur);
  const bool at_its_word = kind.resource != RLIMIT_DATA || as == Counts::heap;
  return soft != 0 || at_its_word ? soft : lowered(limit.rlim_max);
}

bool exceeds(const Kind& kind, std::uint64_t bytes, Counts as) {
  rlimit limit{};
  if (!read_limit(kind.resource, limit) || !is_raised(limit.rlim_cur)) return false;
  const auto all = counted(kind.line);
  if (!all) return false;
  const std::uint64_t engines = kind.own();
  const std::uint64_t programs = *all > engines ? *all - engines : 0;
  const std::uint64_t most = limit_of(kind, limit, as) & ~(kPage - 1);
  return programs > most || bytes > most - programs;
}

// Where a call says what is to be set, and where what was is to go; 0: nowhere.
struct Places {
  std::uint64_t* wanted = nullptr;  // a register
  std::uint64_t before = 0;
};

Places places(Registers& r, std::uint64_t r10) {
  if (r.rax == SYS_getrlimit) return {.before = r.rsi};
  if (r.rax == SYS_setrlimit) return {.wanted = &r.rsi};
  return {.wanted = r.rdx == 0 ? nullptr : &r.rdx, .before = r10};
}

bool is_of_this_process(const Registers& r) {
  return r.rax != SYS_prlimit64 || r.rdi == 0 ||
         static_cast<std::int32_t>(r.rdi) == raw_syscall(SYS_getpid);
}

// The higher limit may be out of reach: the program then has what it asked for from the kernel.
long set_raised(ThreadArea& area, std::uint64_t& wanted, long (*make)(ThreadArea&)) {
  rlimit limit{};
  if (!read_program(&limit, wanted, sizeof(limit))) return make(area);
  const rlimit higher = raised(limit);
  may_be_limited = true;
  const std::uint64_t asked = std::exchange(wanted, reinterpret_cast<std::uint64_t>(&higher));
  const long result = make(area);
  wanted = asked;
  return result == -EPERM ? make(area) : result;
}

}  // namespace

bool asks_for_limit(const Registers& r, std::uint64_t r10) {
  switch (r.rax) {
    case SYS_getrlimit:
    case SYS_setrlimit:
      return is_of_memory(r.rdi);
    case SYS_prlimit64:
      return is_of_memory(r.rsi) && (r10 != 0 || is_of_this_process(r));
    default:
      return false;
  }
}

long limit_call(ThreadArea& area, long (*make)(ThreadArea&)) {
  const auto [wanted, before] = places(area.registers, area.taken[0]);
  const bool sets = wanted != nullptr && is_of_this_process(area.registers);
  const long result = sets ? set_raised(area, *wanted, make) : make(area);
  rlimit limit{};
  if (result == 0 && before != 0 && read_program(&limit, before, sizeof(limit))) {
    const rlimit lower = lowered(limit);
    write_program(before, &lower, sizeof(lower));
  }
  return result;
}

void raise_memory_limits() {
  for (const Kind& kind : {kAddresses, kData}) {
    rlimit limit{};
    if (!read_limit(kind.resource, limit) || limit.rlim_cur == RLIM_INFINITY) continue;
    may_be_limited = true;
    if (!is_raised(limit.rlim_cur)) set_limit(kind.resource, raised(limit));
  }
}

void give_back_memory_limits() {
  if (!may_be_limited) return;
  for (const Kind& kind : {kAddresses, kData}) {
    rlimit limit{};
    if (read_limit(kind.resource, limit)) set_limit(kind.resource, lowered(limit));
  }
}

bool exceeds_memory_limits(std::uint64_t bytes, Counts as) {
  if (!may_be_limited || bytes == 0) return false;
  const std::uint64_t whole = bytes > ~kPage ? bytes : (bytes + kPage - 1) & ~(kPage - 1);
  return exceeds(kAddresses, whole, as) || (as != Counts::addresses && exceeds(kData, whole, as));
}

}  // namespace hodo::engine
