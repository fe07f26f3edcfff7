// Signals as the kernel's interface has them. The C library's headers say it otherwise.
// arch/x86/include/uapi/asm/{signal,sigcontext,ucontext}.h of Linux.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace hodo::engine {

inline constexpr unsigned kSignals = 64;
inline constexpr unsigned kQuit = 3, kIll = 4, kTrap = 5, kAbort = 6, kBus = 7, kFpe = 8, kKill = 9,
                          kSegv = 11, kChild = 17, kContinue = 18, kStop = 19, kTerminalStop = 20,
                          kTerminalIn = 21, kTerminalOut = 22, kUrgent = 23, kProcessorTime = 24,
                          kFileSize = 25, kWindow = 28, kSys = 31;
constexpr std::uint64_t signal_bit(unsigned number) { return 1ULL << (number - 1); }
// Those that instructions raise. They are never blocked: the engine needs them itself.
inline constexpr std::uint64_t kFaults = signal_bit(kIll) | signal_bit(kTrap) | signal_bit(kBus) |
                                         signal_bit(kFpe) | signal_bit(kSegv) | signal_bit(kSys);
inline constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};

inline constexpr std::uint64_t kDefault = 0, kIgnore = 1;  // KernelAction::handler

namespace action {  // KernelAction::flags
inline constexpr std::uint64_t kNoChildStop = 1, kNoChildWait = 2, kSigInfo = 4,
                               kOnStack = 0x08000000, kRestart = 0x10000000, kNoDefer = 0x40000000,
                               kResetHandler = 0x80000000, kRestorer = 0x04000000;
// UAPI_SA_FLAGS: the kernel forgets all others since Linux 5.11, so that programs can ask for them.
inline constexpr std::uint64_t kExposeTagBits = 0x800;
inline constexpr std::uint64_t kKnown = kNoChildStop | kNoChildWait | kSigInfo | kOnStack |
                                        kRestart | kNoDefer | kResetHandler | kRestorer |
                                        kExposeTagBits;
}  // namespace action

struct KernelAction {
  std::uint64_t handler = kDefault;
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  std::uint64_t mask = 0;
};

struct KernelStack {
  static constexpr std::uint32_t kOn = 1, kDisabled = 2, kAutoDisarm = 1u << 31;
  std::uint64_t start = 0;
  std::uint32_t flags = kDisabled;
  std::uint32_t padding = 0;
  std::uint64_t size = 0;
  bool holds(std::uint64_t rsp) const { return rsp > start && rsp - start <= size; }
};

struct KernelInfo {  // siginfo_t
  std::int32_t number;
  std::int32_t error;
  std::int32_t code;
  std::int32_t padding;
  std::uint64_t address;  // of faults; of SIGSYS the one behind the system call
  std::uint8_t rest[104];
};
static_assert(sizeof(KernelInfo) == 128);
// KernelInfo::code of a single step; and where the processor did not say why it came, as it is
// after INT1. A virtual one forgets that at times (DR6): KVM, when it is interrupted on the way.
inline constexpr std::int32_t kTrapTrace = 2, kTrapUnknown = 1;
inline constexpr std::uint64_t kDebugTrap = 1;  // KernelContext::trap of both

// Both of an INT3. KernelContext::trap alone says of any other signal what was raised last.
inline constexpr std::uint64_t kBreakpointTrap = 3;
inline constexpr std::int32_t kByKernel = 0x80;  // SI_KERNEL

struct KernelContext {  // struct ucontext with struct sigcontext
  std::uint64_t flags;
  std::uint64_t link;
  KernelStack stack;
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  std::uint64_t eflags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap, old_mask, cr2;
  std::uint64_t fp_state;
  std::uint64_t reserved[8];
  std::uint64_t mask;
};
static_assert(sizeof(KernelContext) == 304 && offsetof(KernelContext, mask) == 296);

struct KernelFrame {  // struct rt_sigframe
  std::uint64_t return_address;
  KernelContext context;
  KernelInfo info;
};

// In the last bytes of the 512 that FXSAVE leaves to software: struct _fpx_sw_bytes, then XSAVE's
// header.
struct FpSoftware {
  static constexpr std::uint32_t kMagic = 0x46505853;
  static constexpr std::size_t kAt = 464;
  std::uint32_t magic;
  std::uint32_t bytes;  // of all, with a magic number behind it
  std::uint64_t features;
};
inline constexpr std::size_t kFxBytes = 512;
inline constexpr std::size_t kFxMxcsr = 24, kFxX87Place = 8;

// A signal that came where it could not be delivered at once.
struct WaitingSignal {
  unsigned number = 0;
  std::uint64_t error = 0, trap = 0, cr2 = 0;
  KernelInfo info = {};
  bool raised = false;  // by an instruction or a system call of the thread, which the kernel forces
  // What the system call that this ended blocked in place of the thread's own mask (sigsuspend,
  // ppoll), as it goes on to do until the handler returns.
  std::optional<std::uint64_t> blocked_in_call = std::nullopt;
};

inline constexpr std::uint16_t kUserCode = 0x33;  // KernelContext::cs of 64 bits (__USER_CS)

namespace eflags {
inline constexpr std::uint64_t kTf = 1 << 8, kDf = 1 << 10, kRf = 1 << 16, kAc = 1 << 18;
// FIX_EFLAGS: what rt_sigreturn takes from a frame, CF PF AF ZF SF and OF among them.
inline constexpr std::uint64_t kOfFrames = kTf | kDf | kRf | kAc | 0x8d5;
}  // namespace eflags

}  // namespace hodo::engine
