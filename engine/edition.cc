#include "edition.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>

#include "arena.h"
#include "block_calls.h"
#include "cache.h"
#include "code_pages.h"
#include "code_report.h"
#include "failure.h"
#include "hodo/relay/engine_start.h"
#include "lock.h"
#include "low_memory.h"
#include "mappings.h"
#include "program_memory.h"
#include "recording.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"
#include "timed_wait.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

bool is_told_to_recorder() { return hodo_start_info.socket[0] != 0; }

constexpr std::uint64_t kUsual = std::uint64_t{256} << 20;
// Two editions at a time, as a rule: the current one, and one that threads are just leaving.
std::uint64_t share = kUsual / 2;
std::uint32_t current = 1;
std::uint32_t oldest = 1;  // that has memory still
bool has_begun = false;    // the current one; it may wait for memory
relay::CacheRecord use;

std::uint64_t edition_bytes() {
  const std::uint64_t low = low_bytes_used() - kTargetTableBytes;  // of which each has one
  return arena_bytes_used(current) + low + cache_table_bytes() + report_bytes();
}

void free_left_editions() {
  if (oldest == current) return;
  const std::uint32_t in_use = oldest_edition_in_use(current);
  for (; oldest < in_use; ++oldest) {
    free_arenas(oldest);
    free_low(oldest);
  }
}

// Without the lock.
void sleep_a_little() {
  constexpr timespec kShort{.tv_sec = 0, .tv_nsec = 100'000};
  engine_lock.release();
  sleep_for(kShort);
  engine_lock.acquire();
}
constexpr int kMostSleeps = 100;
// Where nothing goes on without what an older edition has: who stands in it may have lost its
// processor for long.
constexpr int kMostSleepsInNeed = 100'000;

// What a thread that leaves an edition remembers of it.
struct Memories {
  bool any = false;
  std::uint64_t returns[ThreadArea::kCalls];  // where calls return to; 0: none
};

void leave(ThreadArea& area, Memories& memories) {
  memories.any = area.stands_in != 0;
  if (!memories.any) return;
  std::uint64_t* to = memories.returns;
  for (const std::uint32_t call : area.calls) {
    const auto* site = reinterpret_cast<const CallSite*>(std::uint64_t{call});
    *to++ = site == no_call ? 0 : site->return_address;
  }
  keep_block(area);
  leave_cache(area);
}

std::uint32_t low(const CallSite* site) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(site));
}

void stand_in_current(ThreadArea& area, const Memories& memories) {
  if (memories.any) {
    const std::uint64_t* from = memories.returns;
    for (std::uint32_t& call : area.calls) {
      call = low(*from == 0 ? no_call : call_site(*from));
      ++from;
    }
  } else if (area.calls_edition != current) {  // behind a system call decoders have none
    for (std::uint32_t& call : area.calls) call = low(no_call);
  }
  area.calls_edition = current;
  area.indirect_targets = indirect_targets;
  area.first_landings = first_landings;
  __atomic_store_n(&area.stands_in, current, __ATOMIC_RELEASE);
}

// False: the thread has come from another one.
bool arrive(ThreadArea& area) {
  if (area.stands_in == current) return true;
  Memories memories;
  leave(area, memories);
  while (!has_begun) sleep_a_little();
  stand_in_current(area, memories);
  return false;
}

// Threads that have not left yet are on the way: most for less than a microsecond, but one may have
// lost its processor, or wait for a page.
void wait_for_others(const ThreadArea& self) {
  for (int i = 0; i < kMostSleeps && oldest != current && self.stands_in == current; ++i) {
    sleep_a_little();
    free_left_editions();
  }
}

// Not even for the beginning of an edition.
[[noreturn]] void end_without_memory(ThreadArea& area) {
  constexpr const char* kWhy = "the engine has no memory for its code (RLIMIT_AS?)";
  engine_lock.release();
  if (is_recorded(area)) send_native(area, "the rest of this process", kWhy);
  const relay::EndRecord end{.exit_status = relay::kEngineFailed};
  end_recording(area, &end);
  die(kWhy);
}

// The engine cannot go on: for the `tried`th time.
void await_memory(ThreadArea& self, int tried) {
  if (oldest == current || tried == kMostSleepsInNeed) end_without_memory(self);
  sleep_a_little();
  free_left_editions();
}

void begin_next(ThreadArea& self) {
  has_begun = false;
  ++current;
  begin_low(current);
  // Where memory is short, it is that of the one before that this one takes.
  free_left_editions();
  for (int i = 0; !low_is_ready() || !cache_tables_are_ready(); ++i) {
    await_memory(self, i);
  }
  begin_tables();
  has_begun = true;
}

void close_edition(ThreadArea& self) {
  const std::uint64_t bytes = edition_bytes();
  use.made += bytes;
  use.most = std::max(use.most, bytes);
  ++use.editions;
  if (others_stand_in(self, current)) trap_heads(current);
  forget_cache();
  forget_translations(oldest == current);
  forget_reports();
  Memories memories;
  leave(self, memories);
  begin_next(self);
  stand_in_current(self, memories);
}

// Whether there is memory for a fragment, whatever it takes of each.
bool is_ready(std::uint64_t ip) {
  return low_is_ready() && cache_tables_are_ready() && code_pages_are_ready() &&
         (!is_told_to_recorder() || reports_are_ready()) && arena_is_ready(ip);
}

bool has_room(std::uint64_t ip) { return edition_bytes() <= share && is_ready(ip); }

}  // namespace

void limit_cache(std::uint64_t bytes) {
  if (bytes != 0) share = bytes / 2;
  // Where addresses are few, most are the program's.
  constexpr std::uint64_t kPart = 8;
  rlimit limit{};
  if (!failed(raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, reinterpret_cast<long>(&limit)))) {
    share = std::min<std::uint64_t>(share, limit.rlim_cur / kPart / 2);
  }
  size_arenas(2 * share);
  size_low(2 * share);
}

void begin_first_edition() {
  begin_low(current);
  begin_tables();
  has_begun = true;
}

void begin_anew(ThreadArea& self) {
  close_edition(self);
  leave_cache(self);
}

void begin_anew_after_killed() {
  trap_heads(current);
  abandon_cache();
  abandon_translations();
  abandon_reports();
  mappings_changed();
  begin_next(current_area());
}

void begin_anew_after(const ThreadArea& killed) {
  if (!engine_lock.is_held_from(&killed)) return;
  begin_anew_after_killed();
  engine_lock.release();
}

std::uint32_t current_edition() { return current; }

Entering::Entering(ThreadArea& area, std::uint64_t ip) {
  // A page that another thread brings (userfaultfd(2), a file system of the program's own) comes
  // before the lock, which that thread needs, too.
  std::uint8_t first = 0;
  read_program(&first, ip, 1);
  engine_lock.acquire();
  stayed_ = arrive(area);
  free_left_editions();
  if (has_room(ip)) return;
  wait_for_others(area);
  stayed_ = arrive(area) && stayed_;
  if (has_room(ip)) return;
  close_edition(area);
  stayed_ = false;
  for (int i = 0; !is_ready(ip); ++i) {
    await_memory(area, i);
    arrive(area);
  }
}

Entering::~Entering() { engine_lock.release(); }

void leave_cache(ThreadArea& area) {
  __atomic_store_n(&area.stands_in, std::uint32_t{0}, __ATOMIC_RELEASE);
}

void count_translated(std::uint64_t bytes) { use.code += bytes; }

relay::CacheRecord cache_use() {
  relay::CacheRecord now = use;
  const std::uint64_t bytes = edition_bytes();
  now.made += bytes;
  now.most = std::max(now.most, bytes);
  ++now.editions;
  return now;
}

}  // namespace hodo::engine
