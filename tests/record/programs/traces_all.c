// traces_all COMMAND...: runs it and traces all that it starts, as strace -f does.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char** command) {
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  raise(SIGSTOP);
  execvp(command[0], command);
  perror(command[0]);
  return 70;
}

int main(int argc, char** argv) {
  const pid_t first = argc < 2 ? -1 : fork();
  if (first == 0) return run(argv + 1);
  int status = 0;
  if (waitpid(first, &status, 0) != first) return 70;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (ptrace(PTRACE_SETOPTIONS, first, NULL, (void*)options) != 0) return 70;
  ptrace(PTRACE_CONT, first, NULL, NULL);
  int result = 70;
  for (pid_t who; (who = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (who == first) result = WIFEXITED(status) ? WEXITSTATUS(status) : 70;
      continue;
    }
    const int signal = WSTOPSIG(status);
    const long passed_on = signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
    ptrace(PTRACE_CONT, who, NULL, (void*)passed_on);
  }
  return result;
}
