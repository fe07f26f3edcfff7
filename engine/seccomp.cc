#include "seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <iterator>

#include "glue.h"
#include "lock.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {

extern "C" const char __executable_start[], _end[];

namespace {

constexpr std::uint32_t low_half(std::uint64_t address) {
  return static_cast<std::uint32_t>(address);
}
template <class T>
std::uint32_t low_half(T* address) {
  return low_half(reinterpret_cast<std::uint64_t>(address));
}

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kIfNotBelow = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint32_t kIp = offsetof(seccomp_data, instruction_pointer);

// Goes on behind itself where the call is not one of the engine's, whose image lies below 4 GB.
constexpr std::size_t kOwn = 10;
void let_engine_through(sock_filter* to) {
  const sock_filter made[] = {
      {kLoad, 0, 0, kIp + 4},
      {kIfEqual, 0, 7, 0},
      {kLoad, 0, 0, kIp},
      {kIfNotBelow, 0, 5, low_half(__executable_start)},
      {kIfNotBelow, 4, 0, low_half(_end)},
      // The program's own calls, which the engine makes for it.
      {kIfEqual, 3, 0, low_half(&glue_syscall_done)},
      {kIfEqual, 2, 0, low_half(&glue_clone_done)},
      {kIfEqual, 1, 0, low_half(&glue_exit_refused)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_LD | BPF_IMM, 0, 0, 0},  // as filters begin
  };
  static_assert(std::size(made) == kOwn);
  for (const sock_filter& one : made) *to++ = one;
}

bool filtered = false;

}  // namespace

bool has_filter() { return filtered; }

void look_for_filter() { filtered = raw_syscall(SYS_prctl, PR_GET_SECCOMP) == SECCOMP_MODE_FILTER; }

bool asks_for_filter(const Registers& r) {
  return (r.rax == SYS_prctl && r.rdi == PR_SET_SECCOMP && r.rsi == SECCOMP_MODE_FILTER) ||
         (r.rax == SYS_seccomp && r.rdi == SECCOMP_SET_MODE_FILTER);
}

long filter_call(ThreadArea& area) {
  static sock_filter filter[BPF_MAXINSNS];  // under the lock
  const std::uint64_t asked = area.registers.rdx;
  sock_fprog program{};
  const Locked locked;
  if (!read_program(&program, asked, sizeof(program)) || program.len == 0 ||
      program.len > BPF_MAXINSNS - kOwn ||
      !read_program(filter + kOwn, reinterpret_cast<std::uint64_t>(program.filter),
                    program.len * sizeof(sock_filter))) {
    return glue_syscall(&area);  // which the kernel refuses, or it is as long as one may be
  }
  let_engine_through(filter);
  const sock_fprog ours{.len = static_cast<unsigned short>(program.len + kOwn), .filter = filter};
  area.registers.rdx = reinterpret_cast<std::uint64_t>(&ours);
  const long result = glue_syscall(&area);
  area.registers.rdx = asked;
  filtered = true;
  return result;
}

// The same call with arguments that do nothing.
long ask_filter(ThreadArea& area) {
  if (!filtered) return 0;
  Registers& r = area.registers;
  const Registers asked = r;
  if (r.rax == SYS_sigaltstack) {
    r.rdi = 0;
  } else {
    r.rdx = 0;
  }
  r.rsi = 0;
  const long result = glue_syscall(&area);
  r = asked;
  return result;
}

}  // namespace hodo::engine
