#include "guest.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hodo::plugin {
namespace {

// Register numbers in gdb's order for each target (target/i386/gdbstub.c).
constexpr int kRsp64 = 7, kEsp32 = 4, kRip64 = 16, kEip32 = 8;

// PAGE_READ, PAGE_WRITE and PAGE_EXEC of QEMU are PROT_READ, PROT_WRITE and PROT_EXEC; for pages
// with translated code the right to write is PAGE_WRITE_ORG (include/exec/cpu-all.h).
constexpr std::uint32_t kPageProt = PROT_READ | PROT_WRITE | PROT_EXEC;
constexpr std::uint32_t kPageWriteOrg = 0x10;

// struct rt_sigframe of x86-64: the return address, then the ucontext, then the siginfo.
constexpr std::uint64_t kUcontext64 = 8;
constexpr std::uint64_t kRdi64InUcontext = 40 + 8 * 8;
constexpr std::uint64_t kRsp64InUcontext = 40 + 15 * 8;
constexpr std::uint64_t kRip64InUcontext = 40 + 16 * 8;
constexpr std::uint64_t kSiginfo64 = kUcontext64 + 304;

// i386: return address, signal number, then for SA_SIGINFO pointers to siginfo and ucontext, else
// the sigcontext itself. Offsets within struct sigcontext_32 of the kernel.
constexpr std::uint64_t kEspInContext = 28, kEipInContext = 56;
constexpr std::uint64_t kContextInUcontext32 = 20;

// si_code > 0 says that the kernel raised the signal, for these because of the instruction itself:
// so it is as a rule, and where there is no si_code it is taken for granted.
constexpr std::int32_t kUntold = 1;
bool raised_by_instruction(std::uint32_t signal, std::int32_t code) {
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  return fault && code > 0;
}

}  // namespace

bool Guest::attach(bool wide) {
  wide_ = wide;
  exported_base_ = static_cast<const std::uint64_t*>(dlsym(RTLD_DEFAULT, "guest_base"));
  page_flags_ = reinterpret_cast<int (*)(std::uint64_t)>(dlsym(RTLD_DEFAULT, "page_get_flags"));
  return registers_.attach(wide);
}

void Guest::look_at(const qemu_plugin_insn& insn) {
  if (exported_base_ != nullptr) return;
  const auto here = reinterpret_cast<std::uintptr_t>(qemu_plugin_insn_haddr(&insn));
  if (here != 0) base_ = here - qemu_plugin_insn_vaddr(&insn);
}

bool Guest::read(std::uint64_t address, void* out, std::size_t size) const {
  const iovec local{out, size};
  const iovec remote{reinterpret_cast<void*>(host(address)), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<std::uint64_t> Guest::read_word(std::uint64_t address) const {
  if (wide_) return read<std::uint64_t>(address);
  return read<std::uint32_t>(address);
}

std::optional<std::string> Guest::read_string(std::uint64_t address) const {
  constexpr std::size_t kMost = 64 * 1024;
  std::string out;
  char part[256];
  while (out.size() < kMost) {
    // Not across a page boundary, behind which nothing may be mapped.
    const std::size_t n = std::min<std::size_t>(sizeof(part), 4096 - address % 4096);
    if (!read(address, part, n)) return out.empty() ? std::nullopt : std::optional(out);
    const std::size_t length = strnlen(part, n);
    out.append(part, length);
    if (length < n) break;
    address += n;
  }
  return out;
}

std::uint32_t Guest::protection(std::uint64_t address) const {
  if (page_flags_ == nullptr) return PROT_READ | PROT_EXEC;
  const auto flags = static_cast<std::uint32_t>(page_flags_(address));
  return (flags & kPageProt) | ((flags & kPageWriteOrg) != 0 ? PROT_WRITE : 0);
}

std::uint64_t Guest::stack_pointer() const { return read_register(wide_ ? kRsp64 : kEsp32); }

std::uint64_t Guest::instruction_pointer() const { return read_register(wide_ ? kRip64 : kEip32); }

std::optional<Guest::SignalFrame> Guest::handler_frame() const {
  const std::uint64_t sp = stack_pointer();
  if (!wide_) return frame_at(sp, 0);
  // A handler gets (signal, &siginfo, &ucontext); rdi, rsi, rdx are gdb's registers 5, 4, 3.
  const std::uint64_t signal = read_register(5);
  if (signal == 0 || signal > 64 || read_register(3) != sp + kUcontext64) return std::nullopt;
  return frame_at(sp, signal);
}

std::optional<Guest::SignalFrame> Guest::frame_at(std::uint64_t sp, std::uint64_t signal) const {
  SignalFrame frame;
  if (wide_) {
    const auto ip = read<std::uint64_t>(sp + kUcontext64 + kRip64InUcontext);
    const auto old_sp = read<std::uint64_t>(sp + kUcontext64 + kRsp64InUcontext);
    const auto first = read<std::uint64_t>(sp + kUcontext64 + kRdi64InUcontext);
    const auto info = read<std::array<std::int32_t, 3>>(sp + kSiginfo64);
    if (!ip || !old_sp || !first) return std::nullopt;
    frame.ip = *ip;
    frame.sp = *old_sp;
    frame.first_argument = *first;
    // QEMU fills the siginfo of handlers with SA_SIGINFO only (setup_rt_frame).
    const auto number = static_cast<std::uint32_t>(signal);
    const bool told = info && static_cast<std::uint32_t>((*info)[0]) == number;
    frame.faulted = raised_by_instruction(number, told ? (*info)[2] : kUntold);
    return frame;
  }
  const auto head = read<std::array<std::uint32_t, 4>>(sp);
  if (!head || (*head)[1] == 0 || (*head)[1] > 64) return std::nullopt;
  // With SA_SIGINFO the third and fourth word point into the frame just above.
  const bool extended = (*head)[2] - sp < 4096 && (*head)[3] - sp < 4096 && (*head)[3] > (*head)[2];
  const std::uint64_t context = extended ? (*head)[3] + kContextInUcontext32 : sp + 8;
  const auto ip = read<std::uint32_t>(context + kEipInContext);
  const auto old_sp = read<std::uint32_t>(context + kEspInContext);
  if (!ip || !old_sp) return std::nullopt;
  frame.ip = *ip;
  frame.sp = *old_sp;
  const auto code = extended ? read<std::int32_t>((*head)[2] + 8) : std::optional(kUntold);
  frame.faulted = raised_by_instruction((*head)[1], code.value_or(0));
  return frame;
}

}  // namespace hodo::plugin
