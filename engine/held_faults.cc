#include "held_faults.h"

#include <signal.h>
#include <sys/syscall.h>

#include "leave.h"
#include "signal_actions.h"
#include "sys.h"

namespace hodo::engine {
namespace {

void change_mask(int how, std::uint64_t set) {
  raw_syscall(SYS_rt_sigprocmask, how, reinterpret_cast<long>(&set), 0, kSetBytes);
}

}  // namespace

bool hold_fault(ThreadArea& area, unsigned number, const KernelInfo& info, std::uint64_t mask) {
  const std::uint64_t bit = signal_bit(number);
  const bool let_through = (mask & bit) != 0;  // by the mask that a system call has for itself
  if ((area.blocked_faults & bit) == 0 || info.code > 0 || let_through) return false;
  if (asks_to_leave({.number = number, .info = info})) return false;
  for (ThreadArea::HeldFault& one : area.held_faults) {
    if (one.number != 0 && one.number != number) continue;
    if (one.number == 0) one = {number, info};
    return true;
  }
  return false;
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

HeldInKernel::HeldInKernel(ThreadArea& area) : any_(area.held_faults[0].number != 0) {
  if (any_) give_held_faults_to_kernel(area);
}

HeldInKernel::~HeldInKernel() {
  if (any_) change_mask(SIG_UNBLOCK, kFaults);
}

}  // namespace hodo::engine
