// Handlers that end by setcontext(), with the context that they were given: at once, and from
// another stack that has taken its turn since. That is not portable, and what schedulers of threads
// of a program's own do.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t interrupted, scheduler;
static char stack[64 * 1024];
static volatile int turns, returned;

// The kernel's context has none of the words behind it that setcontext() reads, too.
static void keep(const ucontext_t* context) {
  getcontext(&interrupted);
  const fpregset_t words = interrupted.uc_mcontext.fpregs;
  interrupted.uc_mcontext = context->uc_mcontext;
  interrupted.uc_mcontext.fpregs = words;
  interrupted.uc_sigmask = context->uc_sigmask;
}

static void take_turn(void) {
  ++turns;
  setcontext(&interrupted);
}

static void on_end_of_turn(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info;
  keep(context);
  getcontext(&scheduler);
  scheduler.uc_stack.ss_sp = stack;
  scheduler.uc_stack.ss_size = sizeof stack;
  makecontext(&scheduler, take_turn, 0);
  setcontext(&scheduler);
}

static void on_return(int signo, siginfo_t* info, void* context) {
  (void)signo, (void)info;
  ++returned;
  keep(context);
  setcontext(&interrupted);
}

static void install(int signo, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(signo, &action, NULL);
}

static __attribute__((noinline)) int work(int signo, int depth) {
  if (depth == 0) return raise(signo) + 1;
  return work(signo, depth - 1) + turns + returned;
}

int main(void) {
  install(SIGUSR1, on_end_of_turn);
  install(SIGUSR2, on_return);
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += work(SIGUSR1, i) + work(SIGUSR2, i);
  printf("%d turns, %d returns: %d\n", turns, returned, sum);
  return 0;
}
