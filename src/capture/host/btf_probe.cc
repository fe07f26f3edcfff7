#include "hodo/capture/btf_probe.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace hodo::capture {
namespace {

[[noreturn]] void run_child() {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
  // Stopped behind int3; a single step from there is one byte, a step of branches goes past the
  // jump.
  asm volatile(
      "int3\n\t"
      "nop\n\tnop\n\tnop\n\tnop\n\t"
      "jmp 1f\n\t"
      "nop\n"
      "1: nop\n");
  ::_exit(0);
}

bool stopped_by_trap(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

std::optional<std::uint64_t> instruction_pointer(pid_t child) {
  user_regs_struct registers{};
  if (::ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return std::nullopt;
  return registers.rip;
}

std::optional<std::uint64_t> step_length(pid_t child) {
  if (!stopped_by_trap(child)) return std::nullopt;
  const auto before = instruction_pointer(child);
  if (::ptrace(PTRACE_SINGLEBLOCK, child, nullptr, nullptr) != 0) return std::nullopt;
  if (!stopped_by_trap(child)) return std::nullopt;
  const auto after = instruction_pointer(child);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

}  // namespace

std::optional<bool> probe_btf() {
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) run_child();
  const auto length = step_length(child);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) == child) {
  }
  if (!length) return std::nullopt;
  return *length > 1;
}

}  // namespace hodo::capture
