#include "recorded_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "exit_code.h"
#include "hodo/relay/engine_start.h"

namespace hodo::capture {
namespace {

constexpr std::size_t kMostEnds = 4096;

// Whether the engine, or the emulator, hears of such an end before it comes, and tells: of signals
// that an instruction raises, and when it gives up. Others can come from outside at any moment.
bool is_heard_of(const ProcessEnd& end) {
  constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  return end.exit_status == relay::kEngineFailed ||
         std::ranges::find(kFaults, end.signal) != kFaults.end();
}

// Of a process that is in the call that ends it.
void wait_for_end(int pidfd) {
  constexpr int kMostMs = 20;
  pollfd p{.fd = pidfd, .events = POLLIN, .revents = 0};
  (void)poll(&p, 1, kMostMs);
}

std::string untold(const ProcessEnd& end) {
  const std::string how = end.signal != 0
                              ? fmt::format("was killed by SIG{}", sigabbrev_np(end.signal))
                              : fmt::format("ended with status {}", end.exit_status);
  return fmt::format(
      "process {} ({}) {}, of which what records it inside the process told nothing: that was written "
      "over, or is at fault itself. What ran last may be missing",
      end.pid, end.name, how);
}

}  // namespace

std::string_view name_of(const std::array<char, 16>& comm) {
  return {comm.data(), strnlen(comm.data(), comm.size())};
}

bool RecordedProcesses::lives(std::int32_t pid) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && !found->second.gone;
}

std::size_t RecordedProcesses::channels_of(std::int32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? 0 : found->second.channels;
}

std::string RecordedProcesses::name(std::int32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? std::string() : found->second.name;
}

void RecordedProcesses::join(const relay::Hello& hello) {
  RecordedProcess& process = processes_[hello.pid];
  if (process.channels == 0) {
    process.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, hello.pid, 0)));
    // It was killed after it had asked, and somebody has taken its exit status.
    process.gone = !process.pidfd && errno == ESRCH;
  }
  process.name = name_of(hello.comm);
  process.root.look(hello.pid);  // while it is sure to be there
  ++process.channels;
}

std::optional<std::string> RecordedProcesses::leave(std::int32_t pid,
                                                    const relay::ChannelReader& reader) {
  const auto found = processes_.find(pid);
  RecordedProcess& process = found->second;
  process.gave_word |= reader.leaving() || reader.damaged();
  if (process.channels == 1) process.gave_word |= reader.closed();
  if (--process.channels != 0) return std::nullopt;
  auto missing = note_end(pid, process);
  processes_.erase(found);
  return missing;
}

// Its last channel is done: it has ended, or executes another program.
std::optional<std::string> RecordedProcesses::note_end(std::int32_t pid, RecordedProcess& process) {
  if ((!process.gone && !process.end) || ends_.size() >= kMostEnds) return std::nullopt;
  ProcessEnd end = process.end.value_or(ProcessEnd{});
  // Killed before it could say a word, or by the call that was to end it.
  const bool says_all = process.end && !process.end_is_judged;
  if (process.end_is_judged) wait_for_end(process.pidfd.get());
  const auto status = says_all ? std::nullopt : wait_status(process.pidfd.get(), pid);
  if (status && WIFSIGNALED(*status)) {
    end.signal = WTERMSIG(*status);
    end.exit_status = -1;
  }
  if (status && WIFEXITED(*status)) end.exit_status = WEXITSTATUS(*status);
  end.pid = pid;
  end.name = process.name;
  const bool silent = status && !process.gave_word && is_told_ && is_heard_of(end);
  ends_.push_back(end);
  return silent ? std::optional(untold(end)) : std::nullopt;
}

void RecordedProcesses::look() {
  for (auto& [pid, process] : processes_) {
    if (!process.pidfd) continue;
    pollfd p{.fd = process.pidfd.get(), .events = POLLIN, .revents = 0};
    process.gone = poll(&p, 1, 0) > 0;
  }
}

void RecordedProcesses::let_go(dev_t device) {
  for (auto& [pid, process] : processes_) process.root.let_go(device);
}

void RecordedProcesses::kill() {
  for (const auto& [pid, process] : processes_) {
    if (process.pidfd)
      (void)syscall(SYS_pidfd_send_signal, process.pidfd.get(), SIGKILL, nullptr, 0);
  }
}

std::vector<std::string> RecordedProcesses::living() const {
  std::vector<std::string> out;
  for (const auto& [pid, process] : processes_) {
    if (!process.gone) out.push_back(fmt::format("{} (process {})", process.name, pid));
  }
  return out;
}

std::vector<int> RecordedProcesses::wake_fds() const {
  std::vector<int> fds;
  for (const auto& [pid, process] : processes_) {
    if (process.pidfd && !process.gone) fds.push_back(process.pidfd.get());
  }
  return fds;
}

}  // namespace hodo::capture
