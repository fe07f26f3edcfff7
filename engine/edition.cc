#include "edition.h"

#include <sys/syscall.h>
#include <time.h>

#include <algorithm>

#include "arena.h"
#include "block_calls.h"
#include "cache.h"
#include "code_pages.h"
#include "code_report.h"
#include "lock.h"
#include "low_memory.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kUsual = std::uint64_t{256} << 20;
// Two editions at a time, as a rule: the current one, and one that threads are just leaving.
std::uint64_t share = kUsual / 2;
std::uint32_t current = 1;
std::uint32_t oldest = 1;  // that has memory still
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

// Threads that have not left yet are on the way: most for less than a microsecond, but one may have
// lost its processor, or wait for a page.
void wait_for_others() {
  constexpr int kTries = 100;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 100'000};
  for (int i = 0; i < kTries && oldest != current; ++i) {
    engine_lock.release();
    raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&kBetween), 0);
    engine_lock.acquire();
    free_left_editions();
  }
}

void close_edition(const ThreadArea& self) {
  const std::uint64_t bytes = edition_bytes();
  use.made += bytes;
  use.most = std::max(use.most, bytes);
  ++use.editions;
  if (others_stand_in(self, current)) trap_heads(current);
  forget_cache();
  forget_translations(oldest == current);
  forget_reports();
  ++current;
  begin_low(current);
  begin_tables();
}

// What the thread remembers of the code that it comes from, in terms of the current edition. The
// old one is there still.
void move_over(ThreadArea& area) {
  for (std::uint32_t& call : area.calls) {
    const auto* site = reinterpret_cast<const CallSite*>(std::uint64_t{call});
    if (site == no_call) continue;
    call = static_cast<std::uint32_t>(
        reinterpret_cast<std::uint64_t>(call_site(0 - site->negated_return)));
  }
  keep_block(area);
}

void forget_all_calls(ThreadArea& area) {
  for (std::uint32_t& call : area.calls) {
    call = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(no_call));
  }
}

// False: it has come from another one.
bool stand_in_current(ThreadArea& area) {
  const std::uint32_t before = area.stands_in;
  if (before == current) return true;
  if (before != 0) {
    move_over(area);
  } else if (area.calls_edition != current) {
    forget_all_calls(area);  // behind a system call decoders have done that
  }
  area.calls_edition = current;
  area.indirect_targets = indirect_targets;
  area.first_landings = first_landings;
  __atomic_store_n(&area.stands_in, current, __ATOMIC_RELEASE);
  return false;
}

}  // namespace

void limit_cache(std::uint64_t bytes) {
  if (bytes != 0) share = bytes / 2;
  size_arenas(2 * share);
  size_low(2 * share);
}

void begin_first_edition() {
  begin_low(current);
  begin_tables();
}

std::uint32_t current_edition() { return current; }

Entering::Entering(ThreadArea& area) {
  engine_lock.acquire();
  stayed_ = stand_in_current(area);
  free_left_editions();
  if (edition_bytes() <= share) return;
  wait_for_others();
  stayed_ = stand_in_current(area) && stayed_;
  if (edition_bytes() <= share) return;
  close_edition(area);
  stayed_ = false;
  stand_in_current(area);
  free_left_editions();
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
