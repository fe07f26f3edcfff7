// Functions that go on on larger stacks (-fsplit-stack), deep enough that several are made, in
// threads, too.
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) static int deep(int n) {
  char big[3000];
  big[0] = (char)n;
  __asm__ volatile("" ::"r"(big) : "memory");
  return n == 0 ? 1 : deep(n - 1) + big[0];
}

static void* run(void* depth) { return (void*)(long)deep((int)(long)depth); }

int main(void) {
  pthread_t threads[3];
  long sum = 0;
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, (void*)(500 + 100 * i));
  for (int i = 0; i < 3; i++) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%d %ld\n", deep(2000), sum);
}
