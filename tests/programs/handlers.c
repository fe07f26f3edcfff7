// Signal handlers of the ordinary kinds: on an alternate stack, nested, left by siglongjmp, several
// at once, by a timer in the middle of work, and one that mends a fault.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { kPage = 4096 };

static volatile sig_atomic_t ticks, raised;
static sigjmp_buf away;
static char* volatile page;

static void on_tick(int signo) { ticks += signo == SIGALRM; }
static void on_inner(int signo) { raised += signo == SIGUSR2; }
static void on_outer(int signo) {
  if (signo == SIGUSR1) raise(SIGUSR2);
}
static void on_leave(int signo) { siglongjmp(away, signo); }
static void on_fault(int signo) {
  (void)signo;
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
}

static void install(int signo, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signo, &action, NULL);
}

static void timer(void) {
  install(SIGALRM, on_tick, SA_RESTART);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, NULL);
  volatile unsigned x = 1;
  for (unsigned i = 0; i < 200000 && ticks < 5; ++i) x = x * 1664525U + 1013904223U + (i & 1);
  setitimer(ITIMER_REAL, &never, NULL);
}

static void several(void) {
  sigset_t both, old;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGUSR2);
  sigprocmask(SIG_BLOCK, &both, &old);
  raise(SIGUSR1);
  raise(SIGUSR2);
  sigprocmask(SIG_SETMASK, &old, NULL);
}

int main(void) {
  static char stack[64 * 1024];
  const stack_t alternate = {stack, 0, sizeof stack};
  sigaltstack(&alternate, NULL);
  timer();
  install(SIGUSR2, on_inner, 0);
  install(SIGUSR1, on_outer, SA_ONSTACK);
  for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  several();
  install(SIGHUP, on_leave, 0);
  volatile int left = 0;
  for (volatile int i = 0; i < 5; ++i) {
    if (sigsetjmp(away, 1) == 0) {
      raise(SIGHUP);
    } else {
      ++left;
    }
  }
  page = mmap(NULL, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install(SIGSEGV, on_fault, 0);
  *page = 1;
  printf("raised %d left %d\n", (int)raised, left);
  return 0;
}
