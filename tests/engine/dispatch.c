// Syscall User Dispatch: system calls that become signals, by a byte of the program's, but for
// those from one range; of a thread, not of its children.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetUserDispatch = 59, kOff = 0, kOn = 1, kInclusive = 2 };

static volatile char selector;
static volatile int calls[16], count;

static void emulates(int number, siginfo_t* info, void* context) {
  selector = 0;
  greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  const int right = info->si_code == 2 && (greg_t)info->si_call_addr == r[REG_RIP] &&
                    info->si_syscall == (int)r[REG_RAX] && r[REG_RCX] == r[REG_RIP];
  calls[count++] = right ? info->si_syscall : -1;
  r[REG_RAX] = 4711;
}

static int set(long mode, long start, long bytes, volatile char* at) {
  return prctl(kSetUserDispatch, mode, start, bytes, at) == 0 ? 0 : errno;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = &emulates, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  printf("refused: %d %d %d\n", set(7, 0, 0, NULL), set(kOff, 1, 0, NULL), set(kOn, 8, -4, NULL));
  printf("on: %d\n", set(kOn, 0, 0, &selector));
  for (int i = 0; i < 3; ++i) {
    selector = 1;
    const long got = syscall(SYS_getppid);
    printf("%ld, call %d\n", got, calls[i] == SYS_getppid);
  }
  printf("allowed: %d, %d calls\n", syscall(SYS_getppid) == getppid(), count);
  fflush(stdout);
  selector = 0;
  if (fork() == 0) {
    selector = 1;
    _exit(syscall(SYS_getpid) == 4711);
  }
  int status = 0;
  wait(&status);
  printf("in a child: %d\n", WEXITSTATUS(status));
  fflush(stdout);
  if (fork() == 0) {
    set(kOn, 0, 0, &selector);
    selector = 2;
    syscall(SYS_getpid);
    _exit(0);
  }
  wait(&status);
  printf("a wrong byte ends it: %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  fflush(stdout);
  if (fork() == 0) {
    set(kOn, 0, 0, (volatile char*)4096);
    syscall(SYS_getpid);
    _exit(0);
  }
  wait(&status);
  printf("so does one that is not there: %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  printf("off: %d\n", set(kOff, 0, 0, NULL));
  selector = 1;
  printf("%d\n", syscall(SYS_getpid) == getpid());
  set(kOn, 1, (long)(~0ul >> 1), &selector);  // all that there is goes through
  printf("%d, %d calls\n", syscall(SYS_getpid) == getpid(), count);
  // Of Linux 6.17: all but what is in the range goes through.
  printf("refused: %d %d\n", set(kInclusive, 1, 0, &selector), set(kInclusive, 8, -4, &selector));
  printf("around: %d\n", set(kInclusive, 1, 1, &selector));
  selector = 1;
  printf("%d, %d calls\n", syscall(SYS_getppid) == getppid(), count);
  selector = 0;
  const int all = set(kInclusive, 1, (long)(~0ul >> 2), &selector);
  selector = all == 0;
  printf("all: %d, %d", all, syscall(SYS_getppid) == 4711);
  printf(" %d calls\n", count);
  return 0;
}
