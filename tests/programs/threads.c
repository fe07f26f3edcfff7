// Threads that work at the same time, have names, share a lock, and end in two ways.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;

static uint32_t collatz_steps(uint32_t n) {
  uint32_t steps = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  return steps;
}

static void* work(void* argument) {
  const uintptr_t index = (uintptr_t)argument;
  char name[16];
  snprintf(name, sizeof name, "worker-%u", (unsigned)index);
  pthread_setname_np(pthread_self(), name);
  for (uint32_t i = 1; i <= kRounds; ++i) {
    const uint32_t steps = collatz_steps(i + (uint32_t)index);
    pthread_mutex_lock(&lock);
    total += steps;
    pthread_mutex_unlock(&lock);
  }
  if (index % 2 == 1) pthread_exit(argument);
  return argument;
}

int main(void) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("total %lu\n", total);
  return 0;
}
