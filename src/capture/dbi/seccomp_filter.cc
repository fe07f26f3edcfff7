#include "seccomp_filter.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "tracee.h"

namespace hodo::capture {
namespace {

// The classic filter machine, as far as seccomp has it (kernel/seccomp.c, seccomp_check_filter()).
class Machine {
 public:
  Machine(std::span<const sock_filter> filter, const seccomp_data& call)
      : filter_(filter), call_(call) {}

  std::uint32_t run() {
    for (std::size_t at = 0; at < filter_.size(); ++at) {  // jumps only lead forward
      const sock_filter& insn = filter_[at];
      switch (BPF_CLASS(insn.code)) {
        case BPF_RET:
          return BPF_RVAL(insn.code) == BPF_A ? a_ : insn.k;
        case BPF_JMP:
          at += jump(insn);
          break;
        default:
          if (!step(insn)) return SECCOMP_RET_KILL_PROCESS;
      }
    }
    return SECCOMP_RET_KILL_PROCESS;
  }

 private:
  std::size_t jump(const sock_filter& insn) const {
    if (BPF_OP(insn.code) == BPF_JA) return insn.k;
    const std::uint32_t other = BPF_SRC(insn.code) == BPF_X ? x_ : insn.k;
    bool holds = false;
    switch (BPF_OP(insn.code)) {
      case BPF_JEQ:
        holds = a_ == other;
        break;
      case BPF_JGT:
        holds = a_ > other;
        break;
      case BPF_JGE:
        holds = a_ >= other;
        break;
      default:
        holds = (a_ & other) != 0;
        break;
    }
    return holds ? insn.jt : insn.jf;
  }

  bool step(const sock_filter& insn) {
    switch (BPF_CLASS(insn.code)) {
      case BPF_LD:
        return load(insn, a_);
      case BPF_LDX:
        return load(insn, x_);
      case BPF_ST:
        return store(insn, a_);
      case BPF_STX:
        return store(insn, x_);
      case BPF_ALU:
        return calculate(insn);
      default:
        (BPF_MISCOP(insn.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(insn.code) == BPF_TAX ? a_ : x_;
        return true;
    }
  }

  bool load(const sock_filter& insn, std::uint32_t& to) const {
    switch (BPF_MODE(insn.code)) {
      case BPF_IMM:
        to = insn.k;
        return true;
      case BPF_LEN:
        to = sizeof(call_);
        return true;
      case BPF_MEM:
        if (insn.k >= memory_.size()) return false;
        to = memory_[insn.k];
        return true;
      case BPF_ABS:
        if (insn.k > sizeof(call_) - sizeof(to) || insn.k % sizeof(to) != 0) return false;
        std::memcpy(&to, reinterpret_cast<const char*>(&call_) + insn.k, sizeof(to));
        return true;
      default:
        return false;
    }
  }

  bool store(const sock_filter& insn, std::uint32_t value) {
    if (insn.k >= memory_.size()) return false;
    memory_[insn.k] = value;
    return true;
  }

  bool calculate(const sock_filter& insn) {
    const std::uint32_t by = BPF_SRC(insn.code) == BPF_X ? x_ : insn.k;
    switch (BPF_OP(insn.code)) {
      case BPF_ADD:
        a_ += by;
        return true;
      case BPF_SUB:
        a_ -= by;
        return true;
      case BPF_MUL:
        a_ *= by;
        return true;
      case BPF_DIV:
        if (by == 0) return false;
        a_ /= by;
        return true;
      case BPF_AND:
        a_ &= by;
        return true;
      case BPF_OR:
        a_ |= by;
        return true;
      case BPF_XOR:
        a_ ^= by;
        return true;
      case BPF_LSH:
        a_ = by < 32 ? a_ << by : 0;
        return true;
      case BPF_RSH:
        a_ = by < 32 ? a_ >> by : 0;
        return true;
      case BPF_NEG:
        a_ = 0 - a_;
        return true;
      default:
        return false;
    }
  }

  std::span<const sock_filter> filter_;
  const seccomp_data& call_;
  std::uint32_t a_ = 0, x_ = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory_{};
};

struct Needed {
  const char* name;
  int number;
  std::array<std::uint64_t, 6> arguments;
};

// What the engine calls, with the arguments that filters look at.
const std::vector<Needed>& needed_calls() {
  constexpr auto kRwx = static_cast<std::uint64_t>(PROT_READ | PROT_WRITE | PROT_EXEC);
  constexpr auto kAnonymous = static_cast<std::uint64_t>(MAP_PRIVATE | MAP_ANONYMOUS);
  static const std::vector<Needed> calls = {
      {"mmap of memory to write and execute", SYS_mmap, {0, 4096, kRwx, kAnonymous, ~0ULL, 0}},
      {"munmap", SYS_munmap, {}},
      {"mprotect", SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}},
      {"madvise", SYS_madvise, {0, 4096, MADV_HUGEPAGE}},
      {"rt_sigaction", SYS_rt_sigaction, {1, 0, 0, 8}},
      {"rt_sigprocmask", SYS_rt_sigprocmask, {2, 0, 0, 8}},
      {"rt_sigreturn", SYS_rt_sigreturn, {}},
      {"sigaltstack", SYS_sigaltstack, {}},
      {"prctl", SYS_prctl, {25}},
      {"socket for the recorder", SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}},
      {"connect", SYS_connect, {}},
      {"sendto", SYS_sendto, {}},
      {"recvmsg", SYS_recvmsg, {}},
      {"pread64", SYS_pread64, {}},
      {"read", SYS_read, {}},
      {"openat", SYS_openat, {static_cast<std::uint64_t>(-100), 0, 02000000}},
      {"close", SYS_close, {}},
      {"futex", SYS_futex, {}},
      {"ppoll", SYS_ppoll, {}},
      {"clock_gettime", SYS_clock_gettime, {1}},
      {"getpid", SYS_getpid, {}},
      {"gettid", SYS_gettid, {}},
      {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, {}},
  };
  return calls;
}

// The filters of a thread that is held; nullopt: they may not be seen.
std::optional<std::vector<std::vector<sock_filter>>> filters_of(pid_t tid) {
  std::vector<std::vector<sock_filter>> filters;
  for (unsigned long i = 0;; ++i) {
    const long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, reinterpret_cast<void*>(i), nullptr);
    if (count < 0) return errno == ENOENT ? std::optional(filters) : std::nullopt;
    std::vector<sock_filter> filter(static_cast<std::size_t>(count));
    if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, reinterpret_cast<void*>(i), filter.data()) < 0) {
      return std::nullopt;
    }
    filters.push_back(std::move(filter));
  }
}

// The first call that they forbid; null: none.
const char* forbidden_by(std::span<const std::vector<sock_filter>> filters) {
  for (const Needed& needed : needed_calls()) {
    seccomp_data call{};
    call.nr = needed.number;
    call.arch = AUDIT_ARCH_X86_64;
    std::copy(needed.arguments.begin(), needed.arguments.end(), call.args);
    for (const auto& filter : filters) {
      const std::uint32_t verdict = run_filter(filter, call) & SECCOMP_RET_ACTION_FULL;
      if (verdict != SECCOMP_RET_ALLOW && verdict != SECCOMP_RET_LOG) return needed.name;
    }
  }
  return nullptr;
}

Status check_filters(pid_t pid, const char* forbidden) {
  if (forbidden == nullptr) return {};
  return fail(
      ErrorCode::not_permitted,
      fmt::format("process {} ({}) has a filter of system calls (seccomp) that forbids what the"
                  " engine needs: {}; remedy: start it without that (of systemd's units:"
                  " MemoryDenyWriteExecute, SystemCallFilter, RestrictAddressFamilies)",
                  pid, status_line(pid, "Name"), forbidden));
}

}  // namespace

std::uint32_t run_filter(std::span<const sock_filter> filter, const seccomp_data& call) {
  return Machine(filter, call).run();
}

Status check_seccomp(pid_t pid) {
  bool any = false;
  for (const pid_t tid : threads_of(pid)) {
    const std::string mode = status_line(tid, "Seccomp");
    if (mode == "1") return check_filters(pid, "all but read, write and exit");
    any = any || mode == "2";
  }
  if (!any) return {};
  HeldThreads held;
  if (held.hold(pid, {}) != 0) return {};  // attaching says why
  Status allowed;
  for (const pid_t tid : held.tids()) {
    if (!allowed || status_line(tid, "Seccomp") != "2") continue;
    const auto filters = filters_of(tid);
    if (filters) {
      allowed = check_filters(pid, forbidden_by(*filters));
    } else {
      allowed =
          fail(ErrorCode::not_permitted,
               fmt::format("process {} ({}) has a filter of system calls (seccomp), which only"
                           " root may look at; remedy: run hodo as root",
                           pid, status_line(pid, "Name")));
    }
  }
  held.let_go();
  return allowed;
}

}  // namespace hodo::capture
