#include "traced_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "hodo/relay/clock.h"
#include "run/pid_namespace.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;  // ns

// 0: there is none.
pid_t traced_of(const NewChannel& asked) {
  const pid_t traced = asked.hello.traced;
  return traced == 0 ? asked.sender : process_of(traced, asked.sender);
}

bool has_ended(const Fd& pidfd) {
  pollfd p{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return !pidfd || poll(&p, 1, 0) > 0;
}

// Nothing lies at 0; of a memory that no process has any more, there is nothing to read
// (mem_rw() in the kernel's fs/proc/base.c).
bool is_left(const Fd& memory) {
  char byte = 0;
  return memory && pread(memory.get(), &byte, 1, 0) == 0;
}

// As a branch's time is shown.
std::string in_seconds(std::uint64_t time) {
  return fmt::format("{}.{:09}", time / kSecond, time % kSecond);
}

}  // namespace

void TracedProcesses::ask(NewChannel asked) {
  asked.hello.time = relay::now();
  asked_.push_back(std::move(asked));
}

// One after the other; what asks meanwhile comes next. Who is let go itself waits for no answer:
// its call is made behind that, natively.
void TracedProcesses::look(NewPrograms& programs) {
  if (moving_ != 0) {
    std::erase_if(asked_, [&](const NewChannel& one) { return one.hello.pid == moving_; });
    return;
  }
  answer_all(programs);
  look_who_is_free(programs);
}

void TracedProcesses::answer_all(NewPrograms& programs) {
  for (std::size_t i = 0; i < asked_.size();) {
    const pid_t traced = traced_of(asked_[i]);
    if (traced != 0 && recording_.may_come_yet(traced) &&
        relay::now() - asked_[i].hello.time < kSecond) {
      ++i;
      continue;
    }
    const NewChannel asked = std::move(asked_[i]);
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(i));
    if (may_be_let_go(traced, asked.sender)) let_go(programs, asked, traced);
    i = 0;
  }
}

// A process that was forked since the recording has stopped has the engine, and no channel.
bool TracedProcesses::may_be_let_go(pid_t pid, pid_t sender) const {
  const bool has_engine =
      recording_.lives(pid) || back_.contains(pid) || (stopped_ && pid == sender);
  return has_engine && !recording_.shares_memory(pid);
}

void TracedProcesses::move(pid_t pid, auto how) {
  moving_ = pid;
  how([this] { recording_.serve(); });
  moving_ = 0;
}

void TracedProcesses::let_go(NewPrograms& programs, const NewChannel& asked, pid_t traced) {
  const bool itself = asked.hello.traced == 0;
  if (itself) asked.say_done();
  Away away{.pid = traced,
            .pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, traced, 0))),
            .memory = Fd(open(fmt::format("/proc/{}/mem", traced).c_str(), O_RDONLY | O_CLOEXEC)),
            .name = recording_.name(traced),
            .tracer = itself ? "its parent" : fmt::format("process {}", asked.hello.pid),
            .since = relay::now()};
  Status gone;
  move(traced, [&](const auto& meanwhile) { gone = programs.let_go(traced, meanwhile); });
  if (!gone) return;
  back_.erase(traced);
  if (!stopped_) away_.push_back(std::move(away));
  if (!itself) asked.say_done();
}

// To look at a process of many threads takes a while.
void TracedProcesses::look_who_is_free(NewPrograms& programs) {
  constexpr std::uint64_t kBetween = 20'000'000, kTimes = 20;
  const std::uint64_t begin = relay::now();
  if (away_.empty() || stopped_ || begin < next_look_) return;
  for (std::size_t i = 0; i < away_.size();) {
    if (look_at(programs, away_[i])) {
      away_.erase(away_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  const std::uint64_t end = relay::now();
  next_look_ = end + std::max(kBetween, (end - begin) * kTimes);
}

// Until its tracer has made the call that it is about to make it is traced by nobody either.
bool TracedProcesses::look_at(NewPrograms& programs, Away& away) {
  if (has_ended(away.pidfd)) {
    recording_.note(words_of(away));
    return true;
  }
  if (programs.is_traced(away.pid)) {
    away.was_traced = true;
    return false;
  }
  if (!away.was_traced && relay::now() - away.since < kSecond) return false;
  return take_back(programs, away);
}

bool TracedProcesses::take_back(NewPrograms& programs, const Away& away) {
  const bool executed = is_left(away.memory);
  Status taken;
  move(away.pid,
       [&](const auto& meanwhile) { taken = programs.take_back(away.pid, settings_, meanwhile); });
  if (taken) {
    back_[away.pid] = executed ? Return::executed : Return::same;
    recording_.note(fmt::format("process {} ({}) was not recorded from {} to {}: {} traced it",
                                away.pid, away.name, in_seconds(away.since),
                                in_seconds(relay::now()), away.tracer));
    return true;
  }
  if (programs.is_traced(away.pid)) return false;
  recording_.note(fmt::format("{}, and {}", words_of(away), taken.error().message));
  return true;
}

std::string TracedProcesses::words_of(const Away& away) {
  return fmt::format(
      "process {} ({}) and what it executed went on without being recorded from {}: {} traced it",
      away.pid, away.name, in_seconds(away.since), away.tracer);
}

TracedProcesses::Return TracedProcesses::welcome(pid_t pid) {
  const auto found = back_.find(pid);
  if (found == back_.end()) return Return::none;
  const Return how = found->second;
  back_.erase(found);
  return how;
}

std::vector<std::string> TracedProcesses::away() const {
  std::vector<std::string> out;
  for (const Away& one : away_) {
    if (!has_ended(one.pidfd)) out.push_back(fmt::format("{} (process {})", one.name, one.pid));
  }
  return out;
}

std::vector<std::string> TracedProcesses::lost() const {
  std::vector<std::string> out;
  out.reserve(away_.size());
  for (const Away& one : away_) out.push_back(words_of(one));
  return out;
}

}  // namespace hodo::capture
