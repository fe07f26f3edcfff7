/* sigaltstack, SIGSEGV to siglongjmp, timers, nested handlers, pthread_cancel, atexit, makecontext,
 * alloca, vfork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>
static sigjmp_buf back;
static volatile int ticks;
static void fault(int s) {
  (void)s;
  siglongjmp(back, 1);
}
static void tick(int s) {
  (void)s;
  if (++ticks % 3 == 0) raise(SIGUSR1);
}
static void usr(int s, siginfo_t* i, void* c) {
  (void)s;
  (void)i;
  (void)c;
}
static void cleanup(void* p) { printf("cleanup %s\n", (char*)p); }
static void* waits(void* p) {
  pthread_cleanup_push(cleanup, p);
  for (;;) pause();
  pthread_cleanup_pop(1);
  return 0;
}
#ifdef __GLIBC__
static ucontext_t a, b;
static void other(int n) {
  for (int i = 0; i < n; i++) swapcontext(&b, &a);
}
#endif
static void bye(void) { puts("bye"); }
static int recurse(volatile int* p, int n) { return n ? recurse(p, n - 1) + 1 : *p; }
int main(void) {
  static char alt[65536], stack[65536];
  (void)stack;
  stack_t st = {.ss_sp = alt, .ss_size = sizeof alt};
  sigaltstack(&st, 0);
  struct sigaction sa = {.sa_handler = fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &sa, 0);
  for (volatile int i = 0; i < 5; i++)
    if (sigsetjmp(back, 1) == 0) recurse(0, i * 10);
  struct sigaction su = {.sa_sigaction = usr, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &su, 0);
  signal(SIGALRM, tick);
  struct itimerval it = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &it, 0);
  while (ticks < 20) {
    char* p = alloca(32);
    memset(p, 1, 32);
  }
  setitimer(ITIMER_REAL, &(struct itimerval){0}, 0);
  pthread_t t;
  pthread_create(&t, 0, waits, "x");
  usleep(1000);
  pthread_cancel(t);
  pthread_join(t, 0);
#ifdef __GLIBC__
  getcontext(&b);
  b.uc_stack.ss_sp = stack;
  b.uc_stack.ss_size = sizeof stack;
  b.uc_link = &a;
  makecontext(&b, (void (*)(void))other, 1, 5);
  for (int i = 0; i < 6; i++) swapcontext(&a, &b);
#endif
  if (vfork() == 0) _exit(0);
  wait(0);
  if (fork() == 0) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGTERM);
  }
  wait(0);
  qsort((int[]){3, 1, 2}, 3, sizeof(int), (int (*)(const void*, const void*))strcmp);
  atexit(bye);
  puts("done");
  return system("true");
}
