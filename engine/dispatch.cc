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

constexpr std::uint64_t kOff = 0, kOn = 1;          // PR_SYS_DISPATCH_...
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

}  // namespace

long dispatch_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t mode = r.rsi, offset = r.rdx, bytes = area.taken[0], selector = r.r8;
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;
  if (mode == kOff) {
    if (offset != 0 || bytes != 0 || selector != 0) return -EINVAL;
  } else if (mode != kOn || (offset != 0 && offset + bytes <= offset)) {
    return -EINVAL;
  } else if (selector >= kEnd) {
    return -EFAULT;
  }
  area.dispatch = {mode == kOn, offset, bytes, selector};
  return 0;
}

bool dispatches(ThreadArea& area, std::uint64_t behind) {
  const Dispatch& dispatch = area.dispatch;
  if (!dispatch.on || behind - dispatch.start < dispatch.bytes) return false;
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
