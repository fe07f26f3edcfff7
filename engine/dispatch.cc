#include "dispatch.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "kernel_signal.h"
#include "lock.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// PR_SYS_DISPATCH_...; the last one of Linux 6.17: only the calls from the range are dispatched.
constexpr std::uint64_t kOff = 0, kOn = 1, kInclusive = 2;
constexpr std::uint8_t kAllowed = 0, kBlocked = 1;  // SYSCALL_DISPATCH_FILTER_...

void send_to_self(KernelInfo& info) {
  raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), info.number,
              reinterpret_cast<long>(&info));
}

// As the kernel's force_exit_sig(): whatever the program wants done about it.
void end_by(ThreadArea& area, unsigned number) {
  {
    const Locked locked;
    area.actions->of[number] = {};
  }
  KernelInfo info = {};
  info.number = static_cast<std::int32_t>(number);
  send_to_self(info);
}

// Asks for what dispatches nothing, and has it undone.
bool kernel_knows_inclusive() {
  constexpr long kNowhere = 1, kByte = 1;
  const long got = raw_syscall(SYS_prctl, kSetUserDispatch, kInclusive, kNowhere, kByte, 0);
  if (!failed(got)) raw_syscall(SYS_prctl, kSetUserDispatch, kOff, 0, 0, 0);
  return !failed(got);
}

// Whether the kernel would take it so.
bool is_valid(std::uint64_t mode, std::uint64_t start, std::uint64_t bytes,
              std::uint64_t selector) {
  switch (mode) {
    case kOff:
      return start == 0 && bytes == 0 && selector == 0;
    case kOn:
      return start == 0 || start + bytes > start;
    case kInclusive:
      return bytes != 0 && start + bytes > start && kernel_knows_inclusive();
    default:
      return false;
  }
}

}  // namespace

long dispatch_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t mode = r.rsi, start = r.rdx, bytes = area.taken[0], selector = r.r8;
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;
  if (!is_valid(mode, start, bytes, selector)) return -EINVAL;
  if (selector >= kEnd) return -EFAULT;
  if (mode == kInclusive) {  // all around it goes through
    area.dispatch = {kOn, selector, start + bytes, 0 - bytes};
  } else {
    area.dispatch = {mode, selector, start, bytes};
  }
  return 0;
}

bool dispatches(ThreadArea& area, std::uint64_t behind) {
  const relay::UserDispatch& dispatch = area.dispatch;
  if (dispatch.mode == kOff || behind - dispatch.start < dispatch.bytes) return false;
  if (dispatch.selector != 0) {
    std::uint8_t state = kBlocked;
    const bool there = read_program(&state, dispatch.selector, 1);
    if (there && state == kAllowed) return false;
    if (!there || state != kBlocked) {
      end_by(area, there ? kSys : kSegv);
      return true;
    }
  }
  constexpr std::int32_t kUserDispatch = 2;  // SYS_USER_DISPATCH
  const auto number = static_cast<std::int32_t>(area.registers.rax);
  const std::uint32_t machine = AUDIT_ARCH_X86_64;
  KernelInfo info = {};
  info.number = static_cast<std::int32_t>(kSys);
  info.code = kUserDispatch;
  info.address = behind;
  std::memcpy(info.rest, &number, sizeof number);
  std::memcpy(info.rest + sizeof number, &machine, sizeof machine);
  send_to_self(info);
  return true;
}

}  // namespace hodo::engine
