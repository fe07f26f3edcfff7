#include "held_faults.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "leave.h"
#include "signal_actions.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

void change_mask(int how, std::uint64_t set) {
  raw_syscall(SYS_rt_sigprocmask, how, reinterpret_cast<long>(&set), 0, kSetBytes);
}

bool is_ignored(const ThreadArea& area, unsigned number) {
  // Where the signal comes the thread may have the lock.
  const auto handler = __atomic_load_n(&area.actions->of[number].handler, __ATOMIC_RELAXED);
  return handler == kIgnore || (handler == kDefault && !is_ended_by(number));
}

std::uint64_t ignored_faults(const ThreadArea& area) {
  std::uint64_t set = 0;
  for (unsigned number = 1; number <= kSignals; ++number) {
    if (is_fault(number) && is_ignored(area, number)) set |= signal_bit(number);
  }
  return set;
}

}  // namespace

bool hold_fault(ThreadArea& area, unsigned number, const KernelInfo& info, std::uint64_t mask) {
  const std::uint64_t bit = signal_bit(number);
  const bool let_through = (mask & bit) != 0;  // by the mask that a system call has for itself
  if ((area.blocked_faults & bit) == 0 || let_through) return false;
  if (is_raised_by_insn(number, info.code)) return false;
  if (asks_to_leave(number, info)) return false;
  for (ThreadArea::HeldFault& one : area.held_faults) {
    if (one.number != 0 && one.number != number) continue;
    if (one.number == 0) one = {number, info};
    return true;
  }
  return false;
}

bool drop_ignored_fault(ThreadArea& area, unsigned number, const KernelInfo& info) {
  if (!is_fault(number) || asks_to_leave(number, info) || is_ending(area)) return false;
  if (!is_ignored(area, number)) return false;
  area.fault_dropped = true;
  return true;
}

void drop_held_fault(ThreadArea& area, unsigned number) {
  change_mask(SIG_BLOCK, kFaults);
  auto* const end = std::end(area.held_faults);
  const auto is_it = [number](const ThreadArea::HeldFault& one) { return one.number == number; };
  std::fill(std::remove_if(std::begin(area.held_faults), end, is_it), end, ThreadArea::HeldFault());
  change_mask(SIG_UNBLOCK, kFaults);
}

void give_held_faults_to_kernel(ThreadArea& area) {
  change_mask(SIG_BLOCK, kFaults);
  for (ThreadArea::HeldFault& one : area.held_faults) {
    if (one.number == 0) continue;
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), one.number,
                reinterpret_cast<long>(&one.info));
    one.number = 0;
  }
}

HeldInKernel::HeldInKernel(ThreadArea& area) {
  const bool dropped = std::exchange(area.fault_dropped, false);
  any_ = dropped || area.held_faults[0].number != 0;
  if (!any_) return;
  give_held_faults_to_kernel(area);
  const std::uint64_t blocked = area.blocked_faults | (dropped ? ignored_faults(area) : 0);
  change_mask(SIG_UNBLOCK, kFaults & ~blocked);
}

HeldInKernel::~HeldInKernel() {
  if (any_) change_mask(SIG_UNBLOCK, kFaults);
}

// The kernel ends who raises what is ignored: the engine's own faults must not be where other
// threads may raise them.
HandedOn::HandedOn(ThreadArea& area) : actions_(*area.actions), alone_(is_last_thread(area)) {
  if (area.held_faults[0].number != 0) give_held_faults_to_kernel(area);
  change_mask(SIG_BLOCK, area.blocked_faults);
  change_mask(SIG_UNBLOCK, kFaults & ~area.blocked_faults);
  if (!alone_) return;
  for (unsigned number = 1; number <= kSignals; ++number) {
    const KernelAction& wanted = actions_.of[number];
    if (is_fault(number) && wanted.handler == kIgnore) kernel_action(number, &wanted, nullptr);
  }
}

HandedOn::~HandedOn() {
  for (unsigned number = 1; alone_ && number <= kSignals; ++number) {
    const KernelAction& wanted = actions_.of[number];
    if (is_fault(number) && wanted.handler == kIgnore) install_action(number, wanted);
  }
  change_mask(SIG_UNBLOCK, kFaults);
}

}  // namespace hodo::engine
