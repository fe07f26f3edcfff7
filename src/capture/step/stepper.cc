#include "stepper.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kCode32 = 0x23;  // __USER32_CS: the code segment of 32-bit programs

std::optional<user_regs_struct> registers(pid_t tid) {
  user_regs_struct regs{};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &regs) != 0) return std::nullopt;
  return regs;
}

isa::Mode mode_of(const user_regs_struct& regs) {
  return regs.cs == kCode32 ? isa::Mode::bits32 : isa::Mode::bits64;
}

// The value of a line of /proc/TID/status, as a number of the given base.
std::uint64_t status_field(pid_t tid, const std::string& name, int base) {
  std::ifstream file(fmt::format("/proc/{}/status", tid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":"))
      return std::stoull(line.substr(name.size() + 1), nullptr, base);
  }
  return 0;
}

bool is_caught(pid_t tid, int signal) {
  return (status_field(tid, "SigCgt", 16) >> (signal - 1) & 1) != 0;
}

// A stop that a step made, and no SIGTRAP of the program's own (int3: SI_KERNEL; kill): behind an
// instruction or branch, behind a system call (user_single_step_report), or at the entry of a
// signal handler, where ptrace_notify() gives the signal's number.
bool made_by_step(pid_t tid) {
  siginfo_t info{};
  if (::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) != 0) return true;
  return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRANCH || info.si_code == TRAP_BRKPT ||
         info.si_code == SIGTRAP;
}

// System calls that change what is mapped to be executed, by their numbers in 64- and 32-bit
// programs (arch/x86/entry/syscalls).
bool maps_code(std::uint64_t number, isa::InsnClass cls) {
  constexpr std::array<std::uint64_t, 6> kWide = {9, 10, 11, 25, 30, 329};
  constexpr std::array<std::uint64_t, 5> kNarrow = {90, 91, 125, 163, 192};
  const auto has = [number](const auto& numbers) {
    return std::ranges::find(numbers, number) != numbers.end();
  };
  return cls == isa::InsnClass::syscall ? has(kWide) : has(kNarrow);
}

// exit_group, of 64 and 32 bits.
bool exits_for_all(std::uint64_t number, isa::InsnClass cls) {
  constexpr std::uint64_t kWide = 231;
  constexpr std::uint64_t kNarrow = 252;
  return number == (cls == isa::InsnClass::syscall ? kWide : kNarrow);
}

bool is_system_call(isa::InsnClass cls) {
  return cls == isa::InsnClass::syscall || cls == isa::InsnClass::int_;
}

}  // namespace

Status Stepper::seize() {
  long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE;
  if (follow_children_) options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (::ptrace(PTRACE_SEIZE, program_.pid(), nullptr, options) == 0) return {};
  return fail(ErrorCode::not_permitted,
              fmt::format("the program may not be traced: {}; kernel.yama.ptrace_scope=3 or a "
                          "container's seccomp profile forbids ptrace, or another debugger has it",
                          std::strerror(errno)));
}

Result<bool> Stepper::handle_stops() {
  // Of a program that is fast enough there is always one more.
  constexpr int kAtOnce = 64;
  for (int n = 0; n < kAtOnce; ++n) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (tid <= 0) return n != 0;
    if (Status done = handle_stop(tid, status); !done) return std::unexpected(done.error());
  }
  return true;
}

void Stepper::let_go() {
  letting_go_ = true;
  for (auto& [tid, task] : tasks_) ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
}

Stepper::Task& Stepper::task_of(pid_t tid) {
  Task& task = tasks_[tid];
  if (task.tid == 0) {
    task.tid = tid;
    task.pid = static_cast<pid_t>(status_field(tid, "Tgid", 10));
  }
  return task;
}

Status Stepper::handle_stop(pid_t tid, int status) {
  Task& task = task_of(tid);
  if (!WIFSTOPPED(status)) return handle_end(task, status);
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  if (event != 0) return handle_event(task, event, signal);
  if (signal == SIGTRAP && made_by_step(tid)) return handle_trap(task);
  return handle_signal(task, signal);
}

Status Stepper::handle_end(Task& task, int status) {
  Task ended = task;
  tasks_.erase(ended.tid);
  if (ended.tid == program_.pid()) program_.set_ended(status);
  if (ended.tid == ended.pid) note_end(ended, status);
  if (!ended.announced) return {};
  if (WIFEXITED(status) && ended.begun && ended.insn && is_system_call(ended.insn->insn.cls)) {
    Status left = came_back(ended);
    if (left) left = file_.branch(ended.pid, ended.tid, ended.insn->address, 0);
    if (!left) return left;
  }
  const auto fatal = uncaught_.find(ended.pid);
  if (WIFSIGNALED(status) && fatal != uncaught_.end() && fatal->second.tid == ended.tid &&
      fatal->second.number == WTERMSIG(status) && fatal->second.ip != 0) {
    Status left = file_.branch(ended.pid, ended.tid, fatal->second.ip, 0);
    if (!left) return left;
  }
  return file_.end_thread(ended.pid, ended.tid);
}

// The first thread has the process's status.
void Stepper::note_end(const Task& task, int status) {
  constexpr std::size_t kMost = 4096;
  if (ends_.size() >= kMost) return;
  ProcessEnd end{.pid = task.pid, .time = relay::now()};
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  const auto fatal = uncaught_.find(task.pid);
  const auto exits = exiting_.extract(task.pid);
  if (end.signal != 0 && fatal != uncaught_.end() && fatal->second.number == end.signal) {
    end.tid = fatal->second.tid;
    end.ip = fatal->second.ip;
  } else if (end.signal == 0 && exits) {
    end.tid = exits.mapped();
  }
  ends_.push_back(std::move(end));
}

Status Stepper::handle_event(Task& task, int event, int signal) {
  unsigned long message = 0;
  ::ptrace(PTRACE_GETEVENTMSG, task.tid, nullptr, &message);
  switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
      births_[static_cast<pid_t>(message)] = {task.pid, task.tid};
      break;  // the call goes on to its end
    case PTRACE_EVENT_EXEC:
      if (Status status = handle_exec(task); !status) return status;
      break;
    case PTRACE_EVENT_STOP:
      if (signal == SIGTRAP) return task.begun ? resume(task, 0) : begin(task);
      // A group stop: the task stays stopped until it is told to go on.
      ::ptrace(PTRACE_LISTEN, task.tid, nullptr, nullptr);
      return {};
    default:
      break;
  }
  if (letting_go_) {
    release(task, 0);
    return {};
  }
  ::ptrace(PTRACE_SINGLESTEP, task.tid, nullptr, nullptr);
  return {};
}

// The call has not come back to where it was made; what follows begins at the stop behind it.
Status Stepper::handle_exec(Task& task) {
  Status status = announce(task);
  if (status && task.begun && task.insn) {
    status = file_.branch(task.pid, task.tid, task.insn->address, 0);
  }
  task.begun = false;
  task.insn.reset();
  task.resumes_at = 0;
  return status ? file_.exec(task.pid, task.tid) : status;
}

// Tells the file of a thread or process when it is first seen.
Status Stepper::announce(Task& task) {
  if (std::exchange(task.announced, true)) return {};
  Birth birth;
  if (const auto found = births_.find(task.tid); found != births_.end()) {
    birth = found->second;
    births_.erase(found);
  } else if (task.tid != program_.pid()) {
    birth = {task.pid, task.pid};  // it has stopped before its parent
  }
  return file_.begin_thread(task.pid, task.tid, birth.parent_pid, birth.parent_tid);
}

// Recording begins, or begins anew, where the task stands.
Status Stepper::begin(Task& task) {
  const auto regs = registers(task.tid);
  if (!regs) return {};
  if (Status status = announce(task); !status) return status;
  task.begun = true;
  if (Status status = file_.branch(task.pid, task.tid, 0, regs->rip); !status) return status;
  return resume(task, 0);
}

Status Stepper::handle_trap(Task& task) {
  const auto regs = registers(task.tid);
  if (!regs) return {};  // killed meanwhile; its end comes next
  if (!task.begun) return begin(task);
  if (std::exchange(task.enters_handler, false)) {
    Status status;
    if (task.interrupted != 0) status = file_.branch(task.pid, task.tid, task.interrupted, 0);
    if (status) status = file_.branch(task.pid, task.tid, 0, regs->rip);
    if (!status) return status;
  } else if (Status status = finish_step(task, regs->rip, true); !status) {
    return status;
  }
  return resume(task, 0);
}

Status Stepper::handle_signal(Task& task, int signal) {
  const auto regs = registers(task.tid);
  if (!regs) return {};
  if (task.begun) {
    if (Status status = finish_step(task, regs->rip, false); !status) return status;
    if (!is_caught(task.tid, signal)) {
      uncaught_[task.pid] = {signal, task.tid, task.resumes_at != 0 ? 0 : regs->rip};
    } else {
      task.enters_handler = true;
      task.interrupted = std::exchange(task.resumes_at, 0) != 0 ? 0 : regs->rip;
    }
  }
  return resume(task, signal);
}

// No handler came first: execution went on where the kernel had been entered.
Status Stepper::came_back(Task& task) {
  const std::uint64_t at = std::exchange(task.resumes_at, 0);
  return at == 0 ? Status() : file_.branch(task.pid, task.tid, 0, at);
}

// The task stands at `now`. `stepped`: behind a whole step; otherwise something stopped it, maybe
// before it had executed anything.
Status Stepper::finish_step(Task& task, std::uint64_t now, bool stepped) {
  if (!stepped && now == task.at) return {};
  if (Status status = came_back(task); !status || !task.insn) return status;
  if (!task.by_branches) {
    return branched(*task.insn, now) ? record(task, *task.insn, now) : Status();
  }
  if (!stepped) return {};  // inside of the straight line
  ProcessCode code(task.pid);
  const auto regs = registers(task.tid);
  const auto at = branch_taken(code, task.at, now, regs ? mode_of(*regs) : isa::Mode::bits64);
  return at ? record(task, *at, now) : Status();
}

Status Stepper::record(Task& task, const SteppedInsn& at, std::uint64_t to) {
  if (!is_system_call(at.insn.cls)) return file_.branch(task.pid, task.tid, at.address, to);
  Status status = file_.branch(task.pid, task.tid, at.address, 0);
  if (status && maps_code(task.number, at.insn.cls)) {
    status = file_.refresh_mappings(task.pid, task.tid);
  }
  task.resumes_at = to;
  return status;
}

// Whether the next step may run up to the next taken branch.
bool Stepper::may_step_branches(Task& task, isa::Mode mode) const {
  if (unit_ != Unit::branches || !file_.in_file(task.pid, task.at)) return false;
  ProcessCode code(task.pid);
  const Line line = look_ahead(code, task.at, mode);
  return line.tells && !line.system_call;
}

Status Stepper::resume(Task& task, int signal) {
  if (letting_go_) {
    release(task, signal);
    return {};
  }
  const auto regs = registers(task.tid);
  if (!regs) return {};
  task.at = regs->rip;
  task.number = regs->rax;
  const isa::Mode mode = mode_of(*regs);
  stepped_wide_ |= mode == isa::Mode::bits64;
  ProcessCode code(task.pid);
  task.insn = insn_at(code, task.at, mode);
  if (task.insn) {
    if (Status status = file_.see_code(task.pid, task.tid, *task.insn); !status) return status;
    const isa::InsnClass cls = task.insn->insn.cls;
    if (is_system_call(cls) && exits_for_all(task.number, cls)) {
      exiting_.try_emplace(task.pid, task.tid);
    }
  }
  task.by_branches = task.insn && !task.enters_handler && may_step_branches(task, mode);
  ++steps_;
  ::ptrace(task.by_branches ? PTRACE_SINGLEBLOCK : PTRACE_SINGLESTEP, task.tid, nullptr, signal);
  return {};
}

void Stepper::release(Task& task, int signal) {
  ::ptrace(PTRACE_DETACH, task.tid, nullptr, signal);
  tasks_.erase(task.tid);
}

}  // namespace hodo::capture
