// Signals of every kind that matters to a trace: by a timer in the middle of loops, by raise, on an
// alternate stack, several pending at once, nested, from faults that the handler jumps out of or
// steps over, and chained from one handler into another.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static volatile sig_atomic_t raised;
static sigjmp_buf after_fault;

static void install(int signo, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(signo, &action, NULL);
}

static void on_tick(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info, (void)context;
  ++ticks;
}

static void on_raise(int signo, siginfo_t* info, void* context) {
  (void)info, (void)context;
  raised += signo == SIGUSR1 ? 1 : 100;
}

static void on_raise_plain(int signo) { raised += signo == SIGUSR2 ? 10000 : 0; }

static void on_nested(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info, (void)context;
  raise(SIGUSR1);
}

static void on_fault_jump(int signo, siginfo_t* info, void* context) {
  (void)info, (void)context;
  siglongjmp(after_fault, signo);
}

#if defined(__x86_64__)
enum { kIp = REG_RIP };
#else
enum { kIp = REG_EIP };
#endif

// The faulting instruction is `movb $0, (%eax or %rax)`: three bytes in both modes.
static void on_fault_step_over(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[kIp] += 3;
}

__attribute__((noinline)) static void touch(volatile char* address) {
  __asm__ volatile("movb $0, (%0)" : : "a"(address) : "memory");
}

static void timer_interrupts_loops(void) {
  install(SIGALRM, on_tick, SA_RESTART);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, NULL);
  volatile uint32_t x = 1;
  // Bounded: a timer may never come on a machine that stands still.
  for (uint32_t i = 0; i < 200000 && ticks < 5; ++i) x = x * 1664525U + 1013904223U + (i & 1);
  setitimer(ITIMER_REAL, &never, NULL);
}

static void raise_in_all_ways(void) {
  static char stack[64 * 1024];
  const stack_t alternate = {stack, 0, sizeof stack};
  sigaltstack(&alternate, NULL);
  install(SIGUSR1, on_raise, SA_ONSTACK);
  for (int i = 0; i < 10; ++i) raise(SIGUSR1);
  install(SIGHUP, on_nested, 0);
  raise(SIGHUP);
  signal(SIGUSR2, on_raise_plain);
  raise(SIGUSR2);
}

static void several_pending_at_once(void) {
  install(SIGTERM, on_raise, 0);
  sigset_t both, old;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGTERM);
  sigprocmask(SIG_BLOCK, &both, &old);
  raise(SIGUSR1);
  raise(SIGTERM);
  sigprocmask(SIG_SETMASK, &old, NULL);
}

static int faults(void) {
  volatile int jumped = 0;
  install(SIGSEGV, on_fault_jump, 0);
  for (volatile int i = 0; i < 5; ++i) {
    if (sigsetjmp(after_fault, 1) == 0) {
      touch(NULL);
    } else {
      ++jumped;
    }
  }
  // A jump to where no code is: the fault is the target's, not the jump's.
  if (sigsetjmp(after_fault, 1) == 0) {
    void (*volatile nowhere)(void) = (void (*)(void))16;
    nowhere();
  } else {
    ++jumped;
  }
  install(SIGSEGV, on_fault_step_over, 0);
  for (int i = 0; i < 5; ++i) touch(NULL);
  return jumped;
}

int main(void) {
  timer_interrupts_loops();
  raise_in_all_ways();
  several_pending_at_once();
  const int jumped = faults();
  printf("raised %d jumped %d\n", (int)raised, jumped);
  return 0;
}
