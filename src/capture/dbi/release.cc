#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attachment.h"
#include "unmapping.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kSyscallBytes = 2;

// A thread on its way out (engine/leave.h).
struct Leaving {
  enum class State : std::uint8_t {
    stopped,  // somewhere
    walks,    // to where it can be let go
    gives,    // back what it has, in the midst of a system call
    parked,   // in front of its rt_sigreturn
    given,    // `native` says how it goes on
  };
  State state = State::stopped;
  user_regs_struct native{};
  std::uint64_t mask = 0;
  int restart = 0;
  relay::UserDispatch dispatch;
  std::array<std::uint64_t, 6> held = {};
};

class Releasing {
 public:
  Releasing(const EngineImage& engine, const relay::Key& key, pid_t pid, const Meanwhile& meanwhile)
      : engine_(engine), key_(key), pid_(pid), meanwhile_(meanwhile) {}

  Status run() {
    do {
      const int error = hold();
      if (error == ESRCH && threads_.empty()) return {};
      if (error != 0 && error != ESRCH && threads_.empty()) {
        return fail(ErrorCode::io,
                    fmt::format("process {} could not be let go: {}", pid_, why_not_held(error)));
      }
      if (!engine_.is_in(pid_, key_)) {  // it has executed another program
        held_.let_go();
        return {};
      }
      constexpr std::uint32_t kYes = 1;
      write_memory(pid_, engine_.entries().leaving, &kYes, sizeof(kYes));
      for (const pid_t tid : held_.tids()) {
        if (!send_off(tid, threads_[tid])) threads_.erase(tid);
      }
      held_.hand_over();
      wait_for_all();
    } while (!all_are_here());
    let_go();
    return {};
  }

 private:
  using State = Leaving::State;

  // Again and again where it cannot be yet: a thread that executes a program may be held for that.
  int hold() {
    constexpr std::chrono::seconds kMost{5};
    const auto deadline = std::chrono::steady_clock::now() + kMost;
    for (;;) {
      const int error = hold_once();
      const bool passes = sharer_ != 0 || (error == EPERM && is_held_here());
      if (!passes || std::chrono::steady_clock::now() > deadline) return error;
      constexpr timespec kShortly{.tv_sec = 0, .tv_nsec = 5'000'000};
      nanosleep(&kShortly, nullptr);
      if (meanwhile_) meanwhile_();
    }
  }

  // Processes in one memory have one engine, of which each would be let go with the first. A child
  // in vfork is awaited; its parent does not stop before it has left, but beside other children.
  int hold_once() {
    sharer_ = 0;
    std::vector<pid_t> children;
    if (threads_.empty()) children = sharers_of_memory(pid_);
    const auto is_other = [this](pid_t pid) { return parent_of(pid) != pid_; };
    const auto other = std::ranges::find_if(children, is_other);
    if (other != children.end()) {
      sharer_ = *other;
      return EBUSY;
    }
    const int error = held_.hold(pid_, meanwhile_);
    if (error != 0) return error;
    const auto stays =
        std::ranges::find_if(children, [this](pid_t pid) { return share_memory(pid_, pid); });
    if (stays == children.end()) return 0;
    sharer_ = *stays;
    held_.let_go();
    return EBUSY;
  }

  std::string why_not_held(int error) const {
    if (sharer_ != 0) return fmt::format("it shares its memory with process {}", sharer_);
    return error == EBUSY ? "a thread of it does not stop" : std::strerror(error);
  }

  bool is_held_here() const {
    return std::ranges::any_of(threads_of(pid_),
                               [](pid_t tid) { return tracer_of(tid) == getpid(); });
  }

  // On its way, from wherever it stands.
  bool send_off(pid_t tid, Leaving& thread) {
    const auto registers = registers_of(tid);
    const auto mask = blocked_signals(tid);
    if (!registers || !mask) return false;
    thread.mask = *mask;
    thread.restart =
        registers->rip == engine_.entries().call_done ? interrupted_call(*registers) : 0;
    if (thread.restart != 0) {
      block_signals(tid, kAllButFaults);
      user_regs_struct sent = *registers;
      sent.rip = engine_.entries().leave_call;
      sent.rdi = registers->rbx;
      sent.orig_rax = ~0ULL;
      sent.eflags = 0x202;
      set_registers(tid, sent);
      thread.state = State::gives;
    } else if (blocks_trap(*mask) || !handles_trap() || stands_before_call(tid, *registers)) {
      thread.state = State::walks;
    } else {
      siginfo_t info{};
      info.si_signo = SIGTRAP;
      info.si_code = SI_QUEUE;
      info.si_value.sival_ptr = reinterpret_cast<void*>(relay::kLeaveSignal);
      syscall(SYS_rt_tgsigqueueinfo, pid_, tid, SIGTRAP, &info);
      thread.state = State::walks;
    }
    return go_on(tid, 0);
  }

  // One that blocks the signal stops at its system calls, one of which lets it through: in vfork,
  // as elsewhere, it may be found where it does not whenever it is interrupted.
  static bool go_on(pid_t tid, int signal) {
    const auto mask = blocked_signals(tid);
    const auto how = mask && blocks_trap(*mask) ? PTRACE_SYSCALL : PTRACE_CONT;
    return ptrace(how, tid, nullptr, signal) == 0;
  }

  // In the engine, for a moment: a signal would wait, and the kernel keeps one of a number. Another
  // SIGTRAP may be the program's, which the thread is about to give back.
  static bool blocks_trap(std::uint64_t mask) { return (mask >> (SIGTRAP - 1) & 1) != 0; }

  // The engine begins with a program, before it has its handlers.
  bool handles_trap() {
    handles_trap_ = handles_trap_ || handles_signal(pid_, SIGTRAP);
    return handles_trap_;
  }

  static bool asks_to_leave(const siginfo_t& info) {
    return info.si_signo == SIGTRAP && info.si_code == SI_QUEUE &&
           info.si_value.sival_ptr == reinterpret_cast<void*>(relay::kLeaveSignal);
  }

  // The thread has executed a program, which knows nothing of a signal that asks it to leave.
  // False: it is free.
  static bool leave_alone(pid_t tid, int status) {
    const bool delivers = status >> 16 == 0;
    siginfo_t info{};
    const bool ours =
        delivers && ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) == 0 && asks_to_leave(info);
    const int signal = delivers && !ours ? WSTOPSIG(status) : 0;
    const bool comes_yet = !ours && has_waiting(tid, asks_to_leave);
    return ptrace(comes_yet ? PTRACE_CONT : PTRACE_DETACH, tid, nullptr, signal) == 0 && comes_yet;
  }

  // It has not got back yet to the call that attaching to it has interrupted, and of which the
  // kernel knows how far it had come: rt_sigreturn would make it forget that.
  bool stands_before_call(pid_t tid, const user_regs_struct& registers) const {
    // The engine's stack lies with the area; translated code, and what leads from there to the
    // engine while the stack is the program's yet, has the area in R10.
    relay::NativeThread native;
    const auto is_its_area = [&](std::uint64_t in_area) {
      return engine_.read_native(pid_, in_area, native) && native.tid == tid;
    };
    return (is_its_area(registers.rsp) || is_its_area(registers.r10)) &&
           native.restart == relay::kRestartBlock;
  }

  // In turn: one may wait for the lock of another.
  void wait_for_all() {
    std::chrono::milliseconds pause{5};
    Patience patience(meanwhile_);
    auto again = std::chrono::steady_clock::now() + pause;
    while (
        std::ranges::any_of(threads_, [](const auto& one) { return is_on_its_way(one.second); })) {
      bool news = false;
      for (auto at = threads_.begin(); at != threads_.end();) {
        const Waited got = is_on_its_way(at->second) ? look_for(at->first) : Waited{};
        const bool any = got.state != Waited::nothing;
        const bool ended = any && (got.state == Waited::gone || !WIFSTOPPED(got.status) ||
                                   !take_stop(at->first, at->second, got.status));
        news = news || any;
        at = ended ? threads_.erase(at) : std::next(at);
        if (ended) look_for_other_program();
      }
      if (!news) patience.wait();
      if (std::chrono::steady_clock::now() > again) {
        stop_who_walks();
        // One that hardly gets a processor would not come any further: each time puts one more
        // frame on its handler's stack.
        pause *= 2;
        again = std::chrono::steady_clock::now() + pause;
      }
    }
  }

  // Whichever thread executes one becomes the first.
  void look_for_other_program() {
    const auto first = threads_.find(pid_);
    if (first != threads_.end() && !engine_.is_in(pid_, key_)) first->second.state = State::walks;
  }

  // A signal may have come to one before it had a handler's stack.
  void stop_who_walks() {
    for (const auto& [tid, thread] : threads_) {
      if (thread.state == State::walks) ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    }
  }

  static bool is_on_its_way(const Leaving& thread) {
    return thread.state == State::walks || thread.state == State::gives;
  }

  // False: the thread has ended, or is free.
  bool take_stop(pid_t tid, Leaving& thread, int status) {
    const auto registers = registers_of(tid);
    if (!registers) return false;
    if (!engine_.is_in(pid_, key_)) return leave_alone(tid, status);
    const bool trap = WSTOPSIG(status) == SIGTRAP && status >> 16 == 0;
    if (trap && registers->rip == engine_.entries().parked) {
      thread.state = State::parked;
      relay::NativeThread native;
      const bool read = engine_.read_native(pid_, registers->rsp, native);
      if (read) thread.dispatch = native.dispatch;
      return read;
    }
    if (trap && registers->rip == engine_.entries().stopped && thread.state == State::gives) {
      thread.state = State::given;
      return take_given(thread, *registers);
    }
    const bool interrupted = status >> 16 == PTRACE_EVENT_STOP;
    const bool calls = WSTOPSIG(status) == kSyscallStop;
    if (thread.state == State::walks && (interrupted || calls)) {
      if (interrupted) undo_interruption(tid);
      return send_off(tid, thread);
    }
    return go_on(tid, status >> 16 == 0 && !calls ? WSTOPSIG(status) : 0);
  }

  bool take_given(Leaving& thread, const user_regs_struct& now) const {
    relay::NativeThread given;
    if (!read_memory(pid_, now.rax, &given, sizeof(given))) return false;
    thread.native = now;
    load_native(thread.native, given);
    thread.native.orig_rax = given.rax;
    thread.native.rax = static_cast<std::uint64_t>(-thread.restart);
    thread.dispatch = given.dispatch;
    thread.mask |= given.mask;
    thread.held = given.held;
    return true;
  }

  // No thread has come that is not stopped.
  bool all_are_here() const {
    const auto tids = threads_of(pid_);
    return std::ranges::all_of(tids, [this](pid_t tid) { return threads_.contains(tid); });
  }

  // Which one does what is left for one to do: not the first, which in most servers is the one that
  // answers.
  pid_t last() const {
    for (const auto& [tid, thread] : threads_) {
      if (tid != pid_) return tid;
    }
    return threads_.begin()->first;
  }

  void let_go() {
    if (threads_.empty() || !give_back(last())) return end_early();
    for (auto& [tid, thread] : threads_) {
      if (tid == last()) continue;
      if (!become_native(tid, thread)) continue;
      give_dispatch(pid_, tid, thread.dispatch);
      ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    }
    Leaving& thread = threads_[last()];
    if (become_native(last(), thread)) {
      unmap(last());
      give_dispatch(pid_, last(), thread.dispatch);
    }
    ptrace(PTRACE_DETACH, last(), nullptr, nullptr);
  }

  // The process has ended, or does so.
  void end_early() {
    for (const auto& [tid, thread] : threads_) ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  }

  // The signals' actions, and the code's protection.
  bool give_back(pid_t tid) {
    const auto saved = registers_of(tid);
    if (!saved) return false;
    user_regs_struct sent = *saved;
    sent.rip = engine_.entries().give_back;
    sent.orig_rax = ~0ULL;
    sent.eflags = 0x202;
    if (!set_registers(tid, sent) || !run_to(tid, engine_.entries().stopped, meanwhile_)) {
      return false;
    }
    const auto done = registers_of(tid);
    return done &&
           make_call(tid, engine_.entries().call_done - kSyscallBytes, SYS_rt_sigaction,
                     {SIGTRAP, done->rax, 0, 8, 0, 0}) &&
           set_registers(tid, *saved);
  }

  // Its registers are the program's, and so is what it blocks.
  bool become_native(pid_t tid, const Leaving& thread) {
    if (thread.state == State::given) {
      return block_signals(tid, thread.mask) && send_held(tid, thread) &&
             set_registers(tid, thread.native);
    }
    for (;;) {  // to its rt_sigreturn
      if (!to_next_call(tid)) return false;
      const auto registers = registers_of(tid);
      if (!registers) return false;
      const bool returns = registers->orig_rax == SYS_rt_sigreturn;
      if (!to_next_call(tid)) return false;
      if (returns) return true;
    }
  }

  // By the thread itself: others may not say so of a signal that one has sent.
  bool send_held(pid_t tid, const Leaving& thread) const {
    const std::uint64_t call = engine_.entries().call_done - kSyscallBytes;
    for (const std::uint64_t info : thread.held) {
      if (info == 0) break;
      std::int32_t number = 0;
      const auto own_pid = make_call(tid, call, SYS_getpid, {});
      const auto own_tid = make_call(tid, call, SYS_gettid, {});
      if (!own_pid || !own_tid || !read_memory(pid_, info, &number, sizeof(number)) ||
          !make_call(tid, call, SYS_rt_tgsigqueueinfo,
                     {static_cast<std::uint64_t>(*own_pid), static_cast<std::uint64_t>(*own_tid),
                      static_cast<std::uint64_t>(number), info})) {
        return false;
      }
    }
    return thread.held[0] == 0 || settle(tid);
  }

  void unmap(pid_t tid) {
    const auto native = registers_of(tid);
    const auto mask = blocked_signals(tid);
    if (!native || !mask) return;
    block_signals(tid, ~std::uint64_t{0});
    const std::uint64_t call = find_syscall(pid_);
    if (!unmap_tables(tid, engine_) || call == 0 ||
        !make_call(tid, call, SYS_munmap, {engine_.begin(), engine_.bytes()}) || !settle(tid)) {
      return;
    }
    set_registers(tid, *native);
    block_signals(tid, *mask);
  }

  const EngineImage& engine_;
  const relay::Key& key_;
  pid_t pid_;
  const Meanwhile& meanwhile_;
  HeldThreads held_;
  std::map<pid_t, Leaving> threads_;
  bool handles_trap_ = false;
  pid_t sharer_ = 0;  // of its memory; 0: none
};

}  // namespace

Status release(const EngineImage& engine, const relay::Key& key, pid_t pid,
               const Meanwhile& meanwhile) {
  const Urgent urgent;
  return Releasing(engine, key, pid, meanwhile).run();
}

}  // namespace hodo::capture
