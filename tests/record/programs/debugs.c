// A debugger of its own children: one that it attaches to while that sleeps, one that it attaches
// to as soon as it is there, one that asks to be traced. In each it sets a breakpoint, and says
// what it sees.
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum How { sleeping, fresh, asks };

static volatile int marks;
__attribute__((noinline)) static void marked(void) { ++marks; }

static int debugged(enum How how, int pipe) {
  char byte;
  if (how == asks) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
  } else if (read(pipe, &byte, 1) != 1) {
    return 70;
  }
  marked();
  return marks == 1 ? 7 : 8;
}

static int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

static void debug(enum How how) {
  int ends[2];
  if (pipe(ends) != 0) return;
  const pid_t pid = fork();
  if (pid == 0) _exit(debugged(how, ends[0]));
  if (how == sleeping) usleep(200000);
  if (how != asks && ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0) perror("attach");
  printf("stopped: %x\n", wait_for(pid));
  const long before = ptrace(PTRACE_PEEKTEXT, pid, &marked, NULL);
  ptrace(PTRACE_POKETEXT, pid, &marked, (before & ~0xffL) | 0xcc);
  if (write(ends[1], "x", 1) != 1) return;
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  printf("at the breakpoint: %x\n", wait_for(pid));
  struct user_regs_struct registers = {0};
  ptrace(PTRACE_GETREGS, pid, NULL, &registers);
  printf("behind it: %d\n", registers.rip == (uintptr_t)&marked + 1);
  --registers.rip;
  ptrace(PTRACE_POKETEXT, pid, &marked, before);
  ptrace(PTRACE_SETREGS, pid, NULL, &registers);
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  printf("ended: %x\n", wait_for(pid));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  debug(sleeping);
  debug(fresh);
  debug(asks);
  return 0;
}
