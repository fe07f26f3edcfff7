// Processes that are asked how they ended.
#include "channel/exit_code.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "hodo/capture/fd.h"

namespace hodo::capture {
namespace {

struct Child {
  explicit Child(int signal) : pid(::fork()) {
    if (pid == 0) {
      if (signal == 0) ::_exit(7);
      for (;;) ::pause();
    }
    pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (signal != 0) ::kill(pid, signal);
  }
  // It has ended, and its parent (this process) was not told.
  void end() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  }
  std::optional<int> status() const { return wait_status(pidfd.get(), pid); }
  pid_t pid;
  Fd pidfd;
};

bool kernel_remembers() {
  utsname name{};
  int major = 0, minor = 0;
  ::uname(&name);
  std::sscanf(name.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 15);
}

TEST(ExitCode, BeforeItsParentIsTold) {
  for (const int signal : {0, SIGKILL, SIGTERM}) {
    const Child child(signal);
    child.end();
    const std::optional<int> found = child.status();
    int told = -1;
    ::waitpid(child.pid, &told, 0);
    EXPECT_EQ(found, told) << signal;
  }
}

TEST(ExitCode, AfterItsParentWasTold) {
  const Child child(SIGKILL);
  int told = -1;
  ::waitpid(child.pid, &told, 0);
  EXPECT_EQ(child.status(), kernel_remembers() ? std::optional(told) : std::nullopt);
}

TEST(ExitCode, WhileItRunsThereIsNone) {
  const Child child(SIGCONT);
  EXPECT_FALSE(child.status());
  ::kill(child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
}

}  // namespace
}  // namespace hodo::capture
