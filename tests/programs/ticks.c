// Many signals, some of them between a system call and the return behind it: a timer ticks while
// the program does little but calls.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static void on_tick(int signo) { ticks += signo == SIGALRM; }

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  const struct timespec pause = {0, 20000};
  for (int i = 0; i < 1500; ++i) {
    syscall(SYS_getppid);
    nanosleep(&pause, NULL);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  puts(ticks != 0 ? "ticked" : "never ticked");
  return 0;
}
