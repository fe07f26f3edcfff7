// Three timers whose signals come in each other's handlers, also at the very end of these.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static volatile long slow, fast;

static void on_slow(int number) {
  (void)number;
  ++slow;
  for (volatile int i = 0; i < 200; ++i) {
  }
}
static void on_fast(int number) {
  (void)number;
  ++fast;
}

int main(void) {
  struct sigaction slowly = {.sa_handler = on_slow, .sa_flags = SA_NODEFER};
  struct sigaction quickly = {.sa_handler = on_fast, .sa_flags = SA_NODEFER};
  sigaction(SIGALRM, &slowly, NULL);
  sigaction(SIGVTALRM, &quickly, NULL);
  sigaction(SIGUSR1, &quickly, NULL);
  const struct itimerval often = {{0, 60}, {0, 60}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  setitimer(ITIMER_VIRTUAL, &often, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const struct itimerspec third = {{0, 70000}, {0, 70000}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &third, NULL);
  unsigned hash = 1;
  for (long i = 0; i < 60000000 && slow < 3000; ++i) hash = hash * 31 + (unsigned)i;
  setitimer(ITIMER_REAL, &never, NULL);
  setitimer(ITIMER_VIRTUAL, &never, NULL);
  timer_delete(timer);
  printf("signals in signals %d\n", slow > 10 && fast > 10);
  return hash == 0;
}
