#include "killed_threads.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace hodo::capture {
namespace {

constexpr std::size_t kMostEnds = 100;

bool is_gone(const KilledThreads::Thread& thread) {
  return syscall(SYS_tgkill, thread.pid, thread.tid, 0) != 0 && errno == ESRCH;
}

// Not on its way out, as all threads of a process that is killed (proc(5), stat: flags).
bool goes_on(const KilledThreads::Thread& thread) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING of linux/sched.h
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", thread.pid, thread.tid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  char state = 'Z';
  long between = 0;
  unsigned flags = kExiting;
  fields >> state;
  for (int i = 0; i < 5; ++i) fields >> between;
  fields >> flags;
  return fields && state != 'Z' && state != 'X' && (flags & kExiting) == 0;
}

}  // namespace

void KilledThreads::look(std::span<const Thread> silent, std::uint64_t now) {
  looked_ = now;
  std::set<Thread> missed;
  std::map<pid_t, bool> going_on;  // processes, of which some may have thousands of threads
  const auto process_goes_on = [&](pid_t pid) {
    const auto [known, fresh] = going_on.try_emplace(pid, false);
    if (fresh) {
      known->second = std::ranges::any_of(
          silent, [&](const Thread& one) { return one.pid == pid && goes_on(one); });
    }
    return known->second;
  };
  for (const Thread& thread : silent) {
    if (killed_.contains(thread) || !is_gone(thread)) continue;
    missed.insert(thread);
    // Once may be the moment in which the process ends as a whole.
    if (!missed_.contains(thread) || ends_.size() >= kMostEnds) continue;
    if (!process_goes_on(thread.pid)) continue;
    killed_.insert(thread);
    ends_.push_back({.pid = thread.pid, .name = {}, .signal = SIGSYS, .tid = thread.tid, .ip = {}});
  }
  missed_ = std::move(missed);
}

}  // namespace hodo::capture
