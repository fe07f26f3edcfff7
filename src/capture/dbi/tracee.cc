#include "tracee.h"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "run/process_maps.h"
#include "unmapping.h"

namespace hodo::capture {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void pause_shortly() {
  const timespec shortly{.tv_sec = 0, .tv_nsec = 30'000};
  nanosleep(&shortly, nullptr);
}

std::uint64_t hex(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// Of system calls that fail with EINTR when the thread was stopped, and can be made again as they
// were: nothing has been done yet.
bool can_be_made_again(const user_regs_struct& r) {
  switch (r.orig_rax) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_read:
    case SYS_write:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
      return true;
    case SYS_io_uring_enter:
      return r.rsi == 0;
    default:
      return false;
  }
}

bool have_one_memory(pid_t a, pid_t b) { return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0; }

// How long a thread may take to stop, and to run, on a machine that has much else to do.
constexpr milliseconds kPatience{5000};

// Lets it begin a system call next.
bool ask_for_call(pid_t tid, std::uint64_t instruction, long number,
                  const std::array<std::uint64_t, 6>& a) {
  auto registers = registers_of(tid);
  if (!registers) return false;
  registers->rip = instruction;
  registers->rax = static_cast<std::uint64_t>(number);
  registers->orig_rax = ~0ULL;
  registers->rdi = a[0], registers->rsi = a[1], registers->rdx = a[2];
  registers->r10 = a[3], registers->r8 = a[4], registers->r9 = a[5];
  registers->eflags = 0x202;
  return set_registers(tid, *registers);
}

void detach(pid_t tid) { ptrace(PTRACE_DETACH, tid, nullptr, nullptr); }

// `copy` is process_vm_readv or process_vm_writev.
template <class Copy>
bool copy_memory(Copy copy, pid_t pid, const iovec& here, std::uint64_t there) {
  const iovec remote{reinterpret_cast<void*>(there), here.iov_len};
  ssize_t done = copy(pid, &here, 1, &remote, 1, 0);
  if (done < 0 && errno == ESRCH) done = copy(living_thread(pid), &here, 1, &remote, 1, 0);
  return done == static_cast<ssize_t>(here.iov_len);
}

}  // namespace

bool read_memory(pid_t pid, std::uint64_t from, void* to, std::size_t count) {
  return copy_memory(process_vm_readv, pid, {to, count}, from);
}

bool write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t count) {
  return copy_memory(process_vm_writev, pid, {const_cast<void*>(from), count}, to);
}

namespace {

// proc(5), /proc/PID/stat; of a thread that is gone as of one that has ended.
struct Stat {
  char state = 'X';
  std::uint64_t flags = 0;  // PF_* of the kernel
};
Stat stat_of(pid_t tid) {
  constexpr int kBetween = 5;  // fields
  std::ifstream file(fmt::format("/proc/{}/stat", tid));
  std::string line;
  std::getline(file, line);
  const std::size_t name = line.rfind(')');  // which may have any characters
  Stat stat;
  if (name == line.npos) return stat;
  std::istringstream fields(line.substr(name + 1));
  std::string field;
  fields >> stat.state;
  for (int i = 0; i < kBetween; ++i) fields >> field;
  fields >> stat.flags;
  return stat;
}

// The process's in name only: in it the kernel does what it was asked for by io_uring or vhost.
// None of its code runs there, and what stops such a thread ends a read that it waits in.
bool is_kernels(pid_t tid, std::uint64_t flags) {
  constexpr std::uint64_t kIoWorker = 0x10, kUserWorker = 0x4000;  // PF_IO_WORKER, PF_USER_WORKER
  constexpr std::uint64_t kAllButFatal = ~std::uint64_t{1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1)};
  // Before Linux 6.4 the second is another flag.
  return (flags & (kIoWorker | kUserWorker)) != 0 &&
         hex(status_line(tid, "SigBlk")) == kAllButFatal;
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  std::error_code none;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (const auto& task : std::filesystem::directory_iterator(tasks, none)) {
    const pid_t tid = std::atoi(task.path().filename().c_str());
    const Stat stat = stat_of(tid);
    const bool has_ended = stat.state == 'Z' || stat.state == 'X';
    if (!has_ended && !is_kernels(tid, stat.flags)) tids.push_back(tid);
  }
  return tids;
}

std::string status_line(pid_t pid, const char* name) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  const std::string field = fmt::format("{}:\t", name);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return line.substr(field.size());
  }
  return {};
}

bool share_memory(pid_t pid, pid_t other) { return have_one_memory(living_thread(pid), other); }

std::vector<pid_t> sharers_of_memory(pid_t pid) {
  const pid_t living = living_thread(pid);
  std::vector<pid_t> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const pid_t other = std::atoi(entry.path().filename().c_str());
    if (other > 0 && other != pid && have_one_memory(living, other)) found.push_back(other);
  }
  return found;
}

pid_t parent_of(pid_t pid) { return std::atoi(status_line(pid, "PPid").c_str()); }

pid_t tracer_of(pid_t pid) { return std::atoi(status_line(pid, "TracerPid").c_str()); }

bool is_not_dumpable(pid_t pid) {
  struct stat st{};
  const bool known = stat(fmt::format("/proc/{}/mem", pid).c_str(), &st) == 0;
  return known && st.st_uid == 0 && geteuid() != 0;
}

bool has_signal(pid_t tid) {
  const std::uint64_t pending = hex(status_line(tid, "SigPnd")) | hex(status_line(tid, "ShdPnd"));
  // Of one who is traced the ignored ones wait, too.
  const std::uint64_t handled = hex(status_line(tid, "SigCgt"));
  return (pending & handled & ~hex(status_line(tid, "SigBlk"))) != 0;
}

bool handles_signal(pid_t pid, int number) {
  return (hex(status_line(pid, "SigCgt")) >> (number - 1) & 1) != 0;
}

std::optional<user_regs_struct> registers_of(pid_t tid) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return std::nullopt;
  return registers;
}

bool set_registers(pid_t tid, const user_regs_struct& registers) {
  return ptrace(PTRACE_SETREGS, tid, nullptr, &registers) == 0;
}

void load_native(user_regs_struct& r, const relay::NativeThread& native) {
  r.orig_rax = ~0ULL;
  r.rax = native.rax, r.rcx = native.rcx, r.rdx = native.rdx, r.rbx = native.rbx;
  r.rsp = native.rsp, r.rbp = native.rbp, r.rsi = native.rsi, r.rdi = native.rdi;
  r.r8 = native.r8, r.r9 = native.r9, r.r10 = native.r10, r.r11 = native.r11;
  r.r12 = native.r12, r.r13 = native.r13, r.r14 = native.r14, r.r15 = native.r15;
  r.rip = native.rip, r.eflags = native.flags;
}

std::optional<std::uint64_t> blocked_signals(pid_t tid) {
  std::uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) != 0) return std::nullopt;
  return mask;
}

bool block_signals(pid_t tid, std::uint64_t mask) {
  return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0;
}

// PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG and PTRACE_SET_..., of Linux 6.4.
constexpr auto kSetDispatch = static_cast<__ptrace_request>(0x4210);
constexpr auto kGetDispatch = static_cast<__ptrace_request>(0x4211);

relay::UserDispatch take_dispatch(pid_t tid) {
  relay::UserDispatch found;
  const relay::UserDispatch off;
  if (ptrace(kGetDispatch, tid, sizeof(found), &found) != 0 || found.mode == off.mode ||
      ptrace(kSetDispatch, tid, sizeof(off), &off) != 0) {
    return off;
  }
  return found;
}

void give_dispatch(pid_t pid, pid_t tid, const relay::UserDispatch& dispatch) {
  constexpr std::uint64_t kSetUserDispatch = 59, kInclusive = 2;
  relay::UserDispatch asked = dispatch;
  if (asked.mode == 0) return;
  if (asked.start != 0 && asked.start + asked.bytes <= asked.start) {  // but for what is around it
    asked = {kInclusive, asked.selector, asked.start + asked.bytes, 0 - asked.bytes};
  }
  if (ptrace(kSetDispatch, tid, sizeof(asked), &asked) == 0) return;
  const auto registers = registers_of(tid);
  const auto mask = blocked_signals(tid);
  const std::uint64_t call = find_syscall(pid);
  if (!registers || !mask || call == 0) return;
  block_signals(tid, ~std::uint64_t{0});
  if (make_call(tid, call, SYS_prctl,
                {kSetUserDispatch, asked.mode, asked.start, asked.bytes, asked.selector, 0})) {
    settle(tid);
  }
  set_registers(tid, *registers);
  block_signals(tid, *mask);
}

void undo_interruption(pid_t tid) {
  auto registers = registers_of(tid);
  if (!registers || static_cast<std::int64_t>(registers->rax) != -EINTR ||
      static_cast<std::int64_t>(registers->orig_rax) < 0 || !can_be_made_again(*registers) ||
      has_signal(tid)) {
    return;
  }
  registers->rax = static_cast<std::uint64_t>(-relay::kRestartNoHandler);
  set_registers(tid, *registers);
}

int interrupted_call(const user_regs_struct& registers) {
  if (static_cast<std::int64_t>(registers.orig_rax) < 0) return 0;
  const auto result = -static_cast<std::int64_t>(registers.rax);
  for (const int how : {relay::kRestartSys, relay::kRestartAlways, relay::kRestartNoHandler,
                        relay::kRestartBlock}) {
    if (result == how) return how;
  }
  return 0;
}

bool has_waiting(pid_t tid, const std::function<bool(const siginfo_t&)>& is_it) {
  constexpr std::uint32_t kAtOnce = 64;
  std::array<siginfo_t, kAtOnce> waiting{};
  __ptrace_peeksiginfo_args which{.off = 0, .flags = 0, .nr = kAtOnce};
  for (;;) {
    const long got = ptrace(PTRACE_PEEKSIGINFO, tid, &which, waiting.data());
    if (got <= 0) return false;
    const auto read = std::span(waiting).first(static_cast<std::size_t>(got));
    if (std::ranges::any_of(read, is_it)) return true;
    which.off += read.size();
  }
}

bool is_to_be_told(pid_t tid) {
  const auto mask = blocked_signals(tid);
  if (!mask) return false;
  const std::uint64_t raised = ~kAllButFaults & ~*mask;
  return has_waiting(tid, [raised](const siginfo_t& one) {
    return one.si_code > 0 && (raised >> (one.si_signo - 1) & 1) != 0;
  });
}

Waited look_for(pid_t tid) {
  int status = 0;
  const pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
  if (got == tid) return {Waited::status_taken, status};
  return {got < 0 && errno != EINTR ? Waited::gone : Waited::nothing};
}

Peeked peek(pid_t tid) {
  siginfo_t info{};
  int got = 0;
  do {
    got = waitid(P_PID, static_cast<id_t>(tid), &info,
                 WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Peeked::gone;
  if (info.si_pid == 0) return Peeked::nothing;
  const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
  return stopped ? Peeked::stopped : Peeked::ended;
}

void Patience::wait() {
  constexpr unsigned kAtOnce = 16, kEvery = 32;
  ++tries_;
  if (tries_ > kAtOnce) pause_shortly();
  if (tries_ % kEvery == 0 && meanwhile_) meanwhile_();
}

std::optional<int> wait_for(pid_t tid, const Meanwhile& meanwhile) {
  Patience patience(meanwhile);
  for (;;) {
    const Waited got = look_for(tid);
    if (got.state == Waited::status_taken) return got.status;
    if (got.state == Waited::gone) return std::nullopt;
    patience.wait();
  }
}

bool run_to(pid_t tid, std::uint64_t rip, const Meanwhile& meanwhile) {
  constexpr std::size_t kMost = 64;  // else the engine has failed
  std::vector<int> others;
  bool there = false;
  while (!there && others.size() < kMost) {
    if (ptrace(PTRACE_CONT, tid, nullptr, nullptr) != 0) return false;
    const auto status = wait_for(tid, meanwhile);
    if (!status || !WIFSTOPPED(*status)) return false;
    const auto registers = registers_of(tid);
    if (!registers) return false;
    there = WSTOPSIG(*status) == SIGTRAP && registers->rip == rip;
    if (!there && *status >> 16 == 0) others.push_back(WSTOPSIG(*status));
  }
  for (const int signal : others) syscall(SYS_tkill, tid, signal);
  return there;
}

bool to_next_call(pid_t tid) {
  std::vector<int> others;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr) != 0) return false;
    const auto status = wait_for(tid, {});
    if (!status || !WIFSTOPPED(*status)) return false;
    if (WSTOPSIG(*status) == kSyscallStop) break;
    if (*status >> 16 == 0) others.push_back(WSTOPSIG(*status));
  }
  for (const int signal : others) syscall(SYS_tkill, tid, signal);
  return true;
}

std::optional<long> make_call(pid_t tid, std::uint64_t instruction, long number,
                              std::array<std::uint64_t, 6> a) {
  if (!ask_for_call(tid, instruction, number, a) || !to_next_call(tid) || !to_next_call(tid)) {
    return std::nullopt;
  }
  const auto registers = registers_of(tid);
  if (!registers) return std::nullopt;
  return static_cast<long>(registers->rax);
}

std::optional<bool> comes_to_run(pid_t tid, std::uint64_t instruction, const Meanwhile& meanwhile) {
  if (!ask_for_call(tid, instruction, SYS_getpid, {})) return std::nullopt;
  if (ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr) != 0) return std::nullopt;
  Patience patience(meanwhile);
  const auto deadline = Clock::now() + kPatience;
  Waited got = look_for(tid);
  while (got.state == Waited::nothing && Clock::now() < deadline) {
    patience.wait();
    got = look_for(tid);
  }
  std::optional<int> status = got.status;
  if (got.state == Waited::nothing) {
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    status = wait_for(tid, meanwhile);
  }
  if (got.state == Waited::gone || !status || !WIFSTOPPED(*status)) return std::nullopt;
  if (WSTOPSIG(*status) == kSyscallStop) {
    if (!to_next_call(tid)) return std::nullopt;
    return true;
  }
  if (*status >> 16 == 0) syscall(SYS_tkill, tid, WSTOPSIG(*status));
  return got.state != Waited::nothing;
}

std::uint64_t find_syscall(pid_t pid) {
  constexpr std::string_view kSyscall = "\x0f\x05";
  constexpr std::uint64_t kMost = 16 << 20;
  std::ifstream maps(fmt::format("/proc/{}/maps", living_thread(pid)));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t dash = line.find('-'), blank = line.find(' ');
    if (dash == line.npos || blank == line.npos || line.size() < blank + 5) continue;
    if (line.compare(blank + 1, 4, "r-xp") != 0) continue;
    const std::pair place(hex(line.substr(0, dash)), hex(line.substr(dash + 1, blank - dash - 1)));
    const bool vdso = line.ends_with("[vdso]");
    if (vdso || line.find('/') != line.npos)
      places.insert(vdso ? places.begin() : places.end(), place);
  }
  for (const auto& [start, end] : places) {
    std::string code(std::min(end - start, kMost), '\0');
    if (!read_memory(pid, start, code.data(), code.size())) continue;
    const std::size_t at = code.find(kSyscall);
    if (at != code.npos) return start + at;
  }
  return 0;
}

Urgent::Urgent() : policy_(sched_getscheduler(0)) {
  sched_param before{};
  sched_getparam(0, &before);
  priority_ = before.sched_priority;
  const sched_param urgent{.sched_priority = 1};
  if (policy_ == SCHED_OTHER) sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &urgent);
}

Urgent::~Urgent() {
  const sched_param before{.sched_priority = priority_};
  sched_setscheduler(0, policy_, &before);
}

int HeldThreads::hold(pid_t pid, const Meanwhile& meanwhile) {
  constexpr milliseconds kBetween{20};
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    bool stopped = true;
    bool all = false;
    for (bool more = true; more && stopped;) {
      std::vector<pid_t> fresh;
      for (const pid_t tid : threads_of(pid)) {
        const auto is_tid = [tid](pid_t other) { return other == tid; };
        if (std::ranges::none_of(tids_, is_tid) && std::ranges::none_of(running_, is_tid) &&
            std::ranges::none_of(others_, is_tid)) {
          fresh.push_back(tid);
        }
      }
      // The first one, which in most servers is the one that answers, goes on until the others have
      // stopped: one that slept may have to wait for a processor until it can.
      if (!all && fresh.size() > 1) std::erase(fresh, pid);
      all = true;
      if (const int error = hold_some(fresh); error != 0) {
        let_go();
        return error;
      }
      more = !fresh.empty();
      stopped = stop_all(meanwhile);
    }
    if (stopped) return tids_.empty() ? ESRCH : 0;
    if (Clock::now() > deadline) break;
    for (const pid_t tid : tids_) ptrace(PTRACE_CONT, tid, nullptr, nullptr);
    running_.insert(running_.end(), tids_.begin(), tids_.end());
    tids_.clear();
    for (const auto end = Clock::now() + kBetween; Clock::now() < end;) {
      pause_shortly();
      if (meanwhile) meanwhile();
    }
    for (const pid_t tid : running_) ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  }
  let_go();
  return EBUSY;
}

int HeldThreads::hold_some(const std::vector<pid_t>& fresh) {
  for (const pid_t tid : fresh) {
    if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
      const int error = errno;
      const std::string state = status_line(tid, "State");
      if (error == ESRCH || state.empty() || state[0] == 'Z' || state[0] == 'X') continue;
      return error;
    }
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    running_.push_back(tid);
  }
  return 0;
}

// False: not all came to a stop in time.
bool HeldThreads::stop_all(const Meanwhile& meanwhile) {
  constexpr milliseconds kWindow{100};
  const auto deadline = Clock::now() + kWindow;
  Patience patience(meanwhile);
  while (!running_.empty()) {
    std::erase_if(running_, [&](pid_t tid) {
      const auto [state, status] = look_for(tid);
      if (state == Waited::nothing) return false;
      if (state == Waited::gone || !WIFSTOPPED(status)) return true;  // it has ended
      if (status >> 16 == PTRACE_EVENT_STOP) {
        if (is_to_be_told(tid)) {
          ptrace(PTRACE_CONT, tid, nullptr, nullptr);
          return false;
        }
        undo_interruption(tid);
        tids_.push_back(tid);
        return true;
      }
      const int signal = WSTOPSIG(status) == kSyscallStop ? 0 : WSTOPSIG(status);
      ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);  // this stop may have taken its place
      ptrace(PTRACE_CONT, tid, nullptr, status >> 16 == 0 ? signal : 0);
      return false;
    });
    if (running_.empty()) break;
    if (Clock::now() > deadline) return false;
    patience.wait();
  }
  return true;
}

void HeldThreads::hand_over() {
  others_.insert(others_.end(), tids_.begin(), tids_.end());
  tids_.clear();
}

// What does not stop now does when it comes back from its system call: it is free when the recorder
// ends.
void HeldThreads::let_go() {
  for (const pid_t tid : tids_) detach(tid);
  tids_.clear();
}

}  // namespace hodo::capture
