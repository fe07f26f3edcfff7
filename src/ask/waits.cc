#include "waits.h"

#include <algorithm>
#include <array>
#include <vector>

#include "hodo/base/last_component.h"
#include "hodo/isa/insn.h"
#include "hodo/symbol/demangle.h"
#include "neutral.h"

namespace hodo::ask {
namespace {

// Entries that are looked back at for the call around: one that waits has not done much before.
constexpr std::size_t kWaitsWithin = 256;
constexpr std::size_t kLongestRound = 4096;  // bytes of a straight line that may have a PAUSE
constexpr std::size_t kLongestCaller =
    1024;  // bytes of a function that does nothing but a futex call
constexpr std::size_t kMostFunctions = std::size_t{1} << 18;

std::string_view bare(std::string_view function) {
  constexpr std::string_view kStub = "@plt";
  if (function.ends_with(kStub)) function.remove_suffix(kStub.size());
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  if (function.starts_with("GI_")) function.remove_prefix(3);
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  return function;
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> all) {
  return std::ranges::any_of(all, [&](std::string_view one) { return name.starts_with(one); });
}

}  // namespace

bool waits_for_threads(std::string_view object, std::string_view function) {
  // Not pthread_once, which calls what it was given, and no try: what those say is what matters.
  constexpr auto kNames = std::to_array<std::string_view>({"pthread_join",
                                                           "pthread_clockjoin",
                                                           "pthread_timedjoin",
                                                           "pthread_mutex_lock",
                                                           "pthread_mutex_timedlock",
                                                           "pthread_mutex_clocklock",
                                                           "pthread_mutex_cond",
                                                           "pthread_mutex_unlock",
                                                           "pthread_cond_",
                                                           "pthread_barrier_w",
                                                           "pthread_rwlock_rdlock",
                                                           "pthread_rwlock_wrlock",
                                                           "pthread_rwlock_t",
                                                           "pthread_rwlock_c",
                                                           "pthread_rwlock_unlock",
                                                           "pthread_spin_lock",
                                                           "pthread_spin_unlock",
                                                           "sem_wait",
                                                           "sem_timedwait",
                                                           "sem_clockwait",
                                                           "sem_post",
                                                           "new_sem_wait",
                                                           "new_sem_post",
                                                           "thrd_join",
                                                           "mtx_lock",
                                                           "mtx_timedlock",
                                                           "mtx_unlock",
                                                           "cnd_wait",
                                                           "cnd_timedwait",
                                                           "cnd_signal",
                                                           "cnd_broadcast",
                                                           "lll_lock",
                                                           "lll_futex",
                                                           "lll_elision",
                                                           "nptl_free_tcb",
                                                           "nptl_deallocate_stack"});
  // musl's.
  constexpr auto kOfLibrary = std::to_array<std::string_view>(
      {"lock", "unlock", "wait", "timedwait", "timedwait_cp", "wake"});
  const std::string_view name = bare(function);
  if (starts_with_any(name, kNames)) return true;
  if (!is_c_library(object)) {
    // The standard libraries' of C++ and Rust.
    return name.contains("::futex::") || name.contains("futex_wait") || name.contains("futex_wake");
  }
  return name.contains("futex") || std::ranges::find(kOfLibrary, name) != kOfLibrary.end();
}

bool lets_time_go(std::string_view function) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"sched_yield", "thrd_yield", "pthread_yield", "usleep", "nanosleep", "clock_nanosleep",
       "sleep", "thrd_sleep", "std::thread::yield_now", "std::thread::sleep"});
  return std::ranges::find(kNames, bare(function)) != kNames.end();
}

Waits::Function Waits::at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const PlaceKey key{space, session_.names().naming(space, time), address};
  if (const auto it = functions_.find(key); it != functions_.end()) return it->second;
  if (functions_.size() == kMostFunctions) functions_.clear();
  return functions_[key] = look_at(space, address, time);
}

Waits::Function Waits::look_at(std::uint32_t space, std::uint64_t address,
                               std::uint64_t time) const {
  const session::Place place = session_.names().place(space, address, time);
  if (place.symbol.empty()) return {};
  const auto object = last_component(place.object);
  Function out{.start = address - place.offset, .size = place.size};
  out.c_library = is_c_library(object);
  const std::string name = symbol::demangle(place.symbol);
  if (waits_for_threads(object, name) ||
      (out.c_library && place.synthetic && makes_futex_calls(space, out.start, out.size, time))) {
    out.kind = Kind::waits;
  } else if (lets_time_go(name)) {
    out.kind = Kind::passes_time;
  }
  return out;
}

// One of the C library without a name: MOV EAX, SYS_futex, and SYSCALL.
bool Waits::makes_futex_calls(std::uint32_t space, std::uint64_t start, std::uint64_t size,
                              std::uint64_t time) const {
  constexpr auto kNumber = std::to_array<std::uint8_t>({0xb8, 0xca, 0, 0, 0});
  constexpr auto kSyscall = std::to_array<std::uint8_t>({0x0f, 0x05});
  if (size == 0 || size > kLongestCaller) return false;
  std::array<std::uint8_t, kLongestCaller> bytes{};
  const auto text = std::span(bytes).first(static_cast<std::size_t>(size));
  if (session_.read_code(space, start, time, text) != text.size()) return false;
  const auto rest = std::ranges::search(text, kNumber);
  return !rest.empty() && !std::ranges::search(std::span(rest.end(), text.end()), kSyscall).empty();
}

std::uint64_t Waits::offset(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  return address - at(space, address, time).start;
}

std::optional<std::size_t> Waits::behind_wait(std::span<const Entry> all, std::size_t where) {
  int level = all[where].depth;
  std::optional<int> around;  // depth at that call
  for (std::size_t i = where; i-- > 0 && where - i <= kWaitsWithin;) {
    const Entry& before = all[i];
    if (before.depth >= level) continue;
    level = before.depth;
    if (at(before.space, before.to, before.time).kind == Kind::waits) around = level;
  }
  if (!around) return std::nullopt;
  const auto left = std::ranges::find_if(
      all.subspan(where), [&](const Entry& entry) { return entry.depth <= *around; });
  if (left == all.end()) return std::nullopt;
  return static_cast<std::size_t>(left - all.begin());
}

bool Waits::is_wait(const Way& way) {
  const Entry& first = way.all[way.at];
  const Function here = at(first.space, first.from, first.time);
  if (here.size == 0) return false;
  const std::uint64_t parting = here.start + way.offset;
  bool waits = false;
  bool again = false;  // the branch where they part
  for (std::size_t i = way.at; i < way.meet; ++i) {
    const Entry& entry = way.all[i];
    const Entry& next = way.all[i + 1];
    if (entry.depth < first.depth) return false;
    if (next.depth == first.depth && here.has(entry.to)) {
      again = again || (entry.to <= parting && parting <= next.from);
      waits = waits ||
              (i - way.at < kWaitsWithin && pauses(entry.space, entry.to, next.from, entry.time));
    }
    if (entry.depth > first.depth) continue;
    if (!here.has(entry.from) && entry.from != 0) return false;
    if (next.depth == first.depth) continue;
    if (at(entry.space, entry.to, entry.time).kind == Kind::other) return false;
    waits = true;
  }
  return waits && (here.c_library || again);
}

bool Waits::is_spin(std::uint32_t space, const Branch& branch) {
  const bool jumps = branch.kind == BranchKind::cond || branch.kind == BranchKind::jmp;
  if (!jumps || branch.to > branch.from || branch.from - branch.to > kLongestRound) return false;
  const bool known = loop_.from == branch.from && loop_.to == branch.to && loop_space_ == space;
  const bool holds =
      known && (loop_.time == branch.time || session_.names().generation(space, loop_.time) ==
                                                 session_.names().generation(space, branch.time));
  loop_.time = branch.time;
  if (holds) return spins_;
  loop_ = branch;
  loop_space_ = space;
  return spins_ = pauses(space, branch.to, branch.from, branch.time);
}

// Whether a straight line has a PAUSE, as loops have that wait for another thread.
bool Waits::pauses(std::uint32_t space, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t time) const {
  constexpr auto kPause = std::to_array<std::uint8_t>({0xf3, 0x90});
  if (end < begin || end - begin > kLongestRound) return false;
  std::vector<std::uint8_t> text(static_cast<std::size_t>(end - begin));
  text.resize(session_.read_code(space, begin, time, text));
  const isa::Mode mode = session_.mode(space, time);
  std::uint64_t ip = begin;
  for (std::span<const std::uint8_t> rest(text); !rest.empty();) {
    if (rest.size() >= kPause.size() && std::ranges::equal(rest.first(kPause.size()), kPause)) {
      return true;
    }
    const auto insn = isa::decode(rest, ip, mode);
    if (!insn || insn->length > rest.size()) return false;
    rest = rest.subspan(insn->length);
    ip += insn->length;
  }
  return false;
}

}  // namespace hodo::ask
