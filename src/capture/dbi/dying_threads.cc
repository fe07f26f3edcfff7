#include "dying_threads.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "tracee.h"

namespace hodo::capture {

void DyingThreads::hold(pid_t pid, pid_t dying) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kAtMost{200};
  const std::size_t first = held_.size();
  for (const pid_t tid : threads_of(pid)) {
    if (tid == dying || ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) continue;
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    held_.push_back({.pid = pid, .tid = tid});
  }
  const auto deadline = Clock::now() + kAtMost;
  const Meanwhile nothing;
  Patience patience(nothing);
  const auto fresh = std::span(held_).subspan(first);
  for (bool all = false; !all && Clock::now() < deadline;) {
    for (Held& held : fresh) take_stop(held);
    all = std::ranges::all_of(fresh, &Held::stands);
    if (!all) patience.wait();
  }
}

void DyingThreads::look(pid_t child) {
  std::erase_if(held_, [&](Held& held) {
    take_stop(held);
    const Peeked found = peek(held.tid);
    if (found == Peeked::ended && held.tid != child) waitpid(held.tid, nullptr, __WALL | WNOHANG);
    return found == Peeked::ended || found == Peeked::gone;
  });
}

void DyingThreads::take_stop(Held& held) const {
  if (held.stands) return;
  const Peeked found = peek(held.tid);
  held.stands = found != Peeked::nothing;
  if (found == Peeked::stopped && look_for(held.tid).state == Waited::status_taken) show(held);
}

void DyingThreads::show(const Held& held) const {
  auto registers = registers_of(held.tid);
  relay::NativeThread native;
  if (!registers || !engine_.read_native(held.pid, registers->rsp, native) || native.saved == 0) {
    return;
  }
  load_native(*registers, native);
  set_registers(held.tid, *registers);
}

}  // namespace hodo::capture
