#include "asked_call.h"

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace hodo::engine {
namespace {

constexpr unsigned kRdi = 1, kRsi = 2, kRdx = 4, kR10 = 8, kR8 = 16;

// Which arguments are int or unsigned int, of the calls of which the engine looks at such. Not of
// clone, whose child takes the registers along.
unsigned narrow_arguments(std::uint64_t number) {
  switch (number) {
    case SYS_arch_prctl:
    case SYS_close:
    case SYS_getrlimit:
    case SYS_prctl:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_setrlimit:
    case SYS_write:
    case SYS_writev:
      return kRdi;
    case SYS_dup2:
    case SYS_prlimit64:
    case SYS_seccomp:
    case SYS_setns:
      return kRdi | kRsi;
    case SYS_close_range:
    case SYS_dup3:
      return kRdi | kRsi | kRdx;
    case SYS_madvise:
      return kRdx;
    case SYS_process_madvise:
      return kRdi | kR10 | kR8;
    case SYS_execveat:
      return kRdi | kR8;
    case SYS_rseq:
      return kRsi | kRdx | kR10;
    default:
      return 0;
  }
}

}  // namespace

AskedCall::AskedCall(ThreadArea& area) : area_(area), number_(area.registers.rax) {
  Registers& r = area.registers;
  r.rax = static_cast<std::uint32_t>(r.rax);
  narrow_ = narrow_arguments(r.rax);
  std::uint64_t* const places[] = {&r.rdi, &r.rsi, &r.rdx, &area.taken[0], &r.r8};
  for (std::size_t i = 0; i < std::size(places); ++i) {
    arguments_[i] = *places[i];
    if ((narrow_ >> i & 1) != 0) *places[i] = static_cast<std::uint32_t>(*places[i]);
  }
}

AskedCall::~AskedCall() {
  Registers& r = area_.registers;
  std::uint64_t* const places[] = {&r.rdi, &r.rsi, &r.rdx, &area_.taken[0], &r.r8};
  for (std::size_t i = 0; i < std::size(places); ++i) {
    if ((narrow_ >> i & 1) != 0) *places[i] = arguments_[i];
  }
}

}  // namespace hodo::engine
