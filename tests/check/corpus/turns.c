#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf back;
static int sum;
static void handler(int s) { sum += s; }
static void* work(void* p) {
  sum += *(int*)p;
  return p;
}
static int order(const void* a, const void* b) { return *(int*)a - *(int*)b; }
int main(void) {
  int a[] = {4, 2, 7};
  pthread_t t;
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  for (int i = 0; i < 10; ++i)
    if (setjmp(back) == 0)
      longjmp(back, i + 1);
    else
      ++sum;
  qsort(a, 3, sizeof *a, order);
  pthread_create(&t, 0, work, a);
  pthread_join(t, 0);
  void* labels[] = {&&one, &&two};
  goto* labels[sum & 1];
one:
  ++sum;
two:
  printf("%d\n", sum);
  return 0;
}
