// Threads that map, unmap and protect pages with code of their own as fast as they can. The kernel
// gives an address that one gives back to another at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kThreads = 4, kRounds = 1500, kPage = 4096 };
static unsigned wrong;

// MOV EAX, value; RET.
static void make(unsigned char* at, uint32_t value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

static void try(unsigned char* at, uint32_t value) {
  if (((uint32_t (*)(void))at)() != value) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void* work(void* seed) {
  uint32_t value = (uint32_t)(uintptr_t)seed;
  for (int round = 0; round < kRounds; ++round) {
    unsigned char* const page =
        mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; ++i) {
      value = value * 1664525u + 1013904223u;
      make(page + 64 * i, value);
      try(page + 64 * i, value);
    }
    if (round % 2 == 0) {
      mprotect(page, kPage, PROT_READ | PROT_WRITE);
      make(page, ++value);
      mprotect(page, kPage, PROT_READ | PROT_EXEC);
      try(page, value);
    }
    munmap(page, kPage);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, work, (void*)(uintptr_t)(i + 1));
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("wrong: %u\n", wrong);
  return 0;
}
