// A counter of the processor time that raises SIGTRAP whatever the thread is doing
// (perf_event_attr::sigtrap), also while the program blocks that.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kEnough = 100, kCounted = 6 };  // TRAP_PERF

static volatile sig_atomic_t told, otherwise;

static void count(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  ++told;
  if (info->si_code != kCounted) otherwise = 1;
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  struct perf_event_attr asked;
  memset(&asked, 0, sizeof asked);
  asked.size = sizeof asked;
  asked.type = PERF_TYPE_SOFTWARE;
  asked.config = PERF_COUNT_SW_TASK_CLOCK;
  asked.sample_period = 200000;  // ns
  asked.exclude_kernel = asked.exclude_hv = asked.sigtrap = asked.remove_on_exec = 1;
  const int counter = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (counter < 0) {
    puts("no counter may be had, or none that tells so");
    return 0;
  }
  while (told < kEnough) getppid();

  sigset_t traps, waiting;
  sigemptyset(&traps);
  sigaddset(&traps, SIGTRAP);
  sigprocmask(SIG_BLOCK, &traps, NULL);
  const int before = told;
  do {
    sigpending(&waiting);
  } while (!sigismember(&waiting, SIGTRAP));
  const int blocked = told - before;
  ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
  sigprocmask(SIG_UNBLOCK, &traps, NULL);
  printf("told otherwise: %d, while it blocks that: %d, and then: %d\n", otherwise, blocked,
         told - before);
  return 0;
}
