// Signal handlers of the ordinary kinds: on an alternate stack, nested, left by siglongjmp, several
// at once, by a timer in the middle of work, one that mends a fault, one that leaves it, one that
// has a function take the place of what faulted, and one that is come back to when it has returned.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

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

static __attribute__((noinline)) int load(const volatile int* from) { return *from; }
static __attribute__((noinline)) int load_nothing(void) { return ++raised, -1; }
static void on_bad_load(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
#ifdef __i386__
  registers[REG_EIP] = (greg_t)load_nothing;
#else
  registers[REG_RIP] = (greg_t)load_nothing;
#endif
}

static void install(int signo, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signo, &action, NULL);
}

// Handlers without SA_SIGINFO get no siginfo from QEMU: what lies there is what the stack had.
static __attribute__((noinline)) void dirty_stack(void) {
  volatile char old[16 * kPage];
  for (unsigned i = 0; i < sizeof old; ++i) old[i] = 0x55;
}

static void leave_faults(void) {
  install(SIGSEGV, on_leave, SA_NODEFER);
  for (volatile int i = 0; i < 5; ++i) {
    dirty_stack();
    if (sigsetjmp(away, 1) == 0) load(NULL);
  }
}

static void skip_faults(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_bad_load;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 5; ++i) load(NULL);
}

// A coroutine as GNU Pth makes it: its handler returns, and is come back to on its own stack.
static sigjmp_buf begun, caller, inside;
static void work(void) {
  for (int i = 0; i < 5; ++i) {
    ++raised;
    if (sigsetjmp(inside, 0) == 0) siglongjmp(caller, 1);
  }
  siglongjmp(caller, 2);
}
static void on_begin(int signo) {
  (void)signo;
  if (sigsetjmp(begun, 0) != 0) work();
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
  leave_faults();
  skip_faults();
  install(SIGURG, on_begin, SA_ONSTACK);
  raise(SIGURG);
  const int returned = sigsetjmp(caller, 0);
  if (returned == 0) siglongjmp(begun, 1);
  if (returned == 1) siglongjmp(inside, 1);
  printf("raised %d left %d\n", (int)raised, left);
  return 0;
}
