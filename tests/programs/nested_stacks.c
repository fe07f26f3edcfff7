// Test fixture: nested functions whose address is taken on the stacks of a thread and of a
// coroutine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { kStackSize = 65536 };

static ucontext_t caller, coroutine;

static int smallest(int down) {
  int order[] = {3, 1, 2};
  int compare(const void* a, const void* b) {
    const int difference = *(const int*)a - *(const int*)b;
    return down ? -difference : difference;
  }
  qsort(order, 3, sizeof *order, compare);
  return order[0];
}

static void* in_thread(void* unused) {
  printf("%d\n", smallest(0));
  return unused;
}

static void in_coroutine(void) { printf("%d\n", smallest(1)); }

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, in_thread, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  void* stack = mmap(NULL, kStackSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = kStackSize;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, in_coroutine, 0);
  return swapcontext(&caller, &coroutine);
}
