// Threads that are cancelled and that leave, with cleanups; setjmps of forty calls at once; jumps
// out of handlers and out of qsort.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void cleanup(void* what) { printf("%s\n", (const char*)what); }
static void* waits(void* unused) {
  pthread_cleanup_push(cleanup, "cancelled");
  for (;;) pause();
  pthread_cleanup_pop(0);
  return unused;
}
static void leave(int n) {
  if (n == 0) pthread_exit(0);
  leave(n - 1);
  puts("");
}
static void* leaves(void* unused) {
  pthread_cleanup_push(cleanup, "left");
  leave(4);
  pthread_cleanup_pop(0);
  return unused;
}
static jmp_buf levels[40];
static void nest(int n) {
  if (setjmp(levels[n]) != 0) return;
  if (n < 39) nest(n + 1);
  if (n == 39) longjmp(levels[17], 1);
  if (n == 3) longjmp(levels[3], 1);
}
static jmp_buf out;
static int compare(const void* a, const void* b) {
  static int left = 20;
  if (--left == 0) longjmp(out, 1);
  return *(const int*)a - *(const int*)b;
}
static sigjmp_buf again;
static volatile int depth;
static void overflowed(int number) { siglongjmp(again, number); }
static int deep(int n) {
  volatile char room[512];
  room[0] = (char)n;
  depth = n;
  return deep(n + 1) + room[0];
}
static volatile sig_atomic_t ticks;
static void tick(int number) {
  ++ticks;
  if (number == SIGUSR1 && ticks < 4) raise(SIGUSR2);
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, waits, 0);
  usleep(10000);
  pthread_cancel(thread);
  pthread_join(thread, 0);
  pthread_create(&thread, 0, leaves, 0);
  pthread_join(thread, 0);
  nest(0);
  int list[50];
  for (int i = 0; i < 50; ++i) list[i] = i * 7 % 50;
  if (setjmp(out) == 0) qsort(list, 50, sizeof *list, compare);
  signal(SIGUSR1, tick);
  signal(SIGUSR2, tick);
  for (int i = 0; i < 3; ++i) raise(SIGUSR1);
  static char stack[1 << 16];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, 0);
  struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, 0);
  if (sigsetjmp(again, 1) == 0) deep(0);
  printf("%d %d\n", depth > 1000, (int)ticks);
  return 0;
}
