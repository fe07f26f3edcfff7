#include "address_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <utility>

#include "hodo/base/page.h"
#include "memory.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// More than addresses have, and so that it is still less than RLIM_INFINITY.
constexpr rlim_t kRaised = rlim_t{1} << 62;

// Whether to look at all: a process without a limit never had one that was set here.
bool may_be_limited = false;

bool is_raised(rlim_t limit) { return limit >= kRaised && limit != RLIM_INFINITY; }
rlim_t raised(rlim_t limit) { return limit < kRaised ? limit + kRaised : limit; }
rlim_t lowered(rlim_t limit) { return is_raised(limit) ? limit - kRaised : limit; }
rlimit raised(const rlimit& of) { return {raised(of.rlim_cur), raised(of.rlim_max)}; }
rlimit lowered(const rlimit& of) { return {lowered(of.rlim_cur), lowered(of.rlim_max)}; }

bool read_limit(rlimit& out) {
  return !failed(raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, reinterpret_cast<long>(&out)));
}

bool set_limit(const rlimit& to) {
  return !failed(raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, reinterpret_cast<long>(&to), 0));
}

// Bytes that are mapped, as the kernel counts them: the first number in /proc/PID/statm, pages.
std::optional<std::uint64_t> mapped_bytes() {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/statm"),
                                O_RDONLY | O_CLOEXEC);
  if (failed(file)) return std::nullopt;
  char text[32] = {};
  const long got = raw_syscall(SYS_read, file, reinterpret_cast<long>(text), sizeof(text) - 1);
  raw_syscall(SYS_close, file);
  std::uint64_t pages = 0;
  for (const char* at = text; *at >= '0' && *at <= '9'; ++at) {
    pages = 10 * pages + static_cast<std::uint64_t>(*at - '0');
  }
  return got > 0 ? std::optional(pages * kPage) : std::nullopt;
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
      return r.rdi == RLIMIT_AS;
    case SYS_prlimit64:
      return r.rsi == RLIMIT_AS && (r10 != 0 || is_of_this_process(r));
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

void raise_address_limit() {
  rlimit limit{};
  if (!read_limit(limit)) return;
  may_be_limited = limit.rlim_cur != RLIM_INFINITY;
  if (may_be_limited && !is_raised(limit.rlim_cur)) set_limit(raised(limit));
}

void give_back_address_limit() {
  rlimit limit{};
  if (may_be_limited && read_limit(limit)) set_limit(lowered(limit));
}

bool exceeds_address_limit(std::uint64_t bytes) {
  rlimit limit{};
  if (!may_be_limited || bytes == 0 || !read_limit(limit) || !is_raised(limit.rlim_cur)) {
    return false;
  }
  const auto mapped = mapped_bytes();
  if (!mapped) return false;
  const std::uint64_t own = own_bytes();
  const std::uint64_t programs = *mapped > own ? *mapped - own : 0;
  const std::uint64_t most = lowered(limit.rlim_cur);
  const std::uint64_t more =
      bytes > ~std::uint64_t{0} - kPage ? bytes : (bytes + kPage - 1) & ~(kPage - 1);
  return programs > most || more > most - programs;
}

}  // namespace hodo::engine
