// Threads that give themselves names, one of them twice.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

static void* work(void* name) {
  pthread_setname_np(pthread_self(), name);
  volatile int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += i;
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, work, "weaver");
  pthread_create(&b, NULL, work, "spinner");
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
