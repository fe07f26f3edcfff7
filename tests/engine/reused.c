// Threads that map, unmap and protect pages with code of their own as fast as they can. The kernel
// gives an address that one gives back to another at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

// A page that is mapped anew and written all the time, by a call that brings it in at once, while
// others run there: in the eyes of both it is one that may be written.
static unsigned char* shared;
static volatile int over;

static void* run_there(void* unused) {
  while (!over) try(shared, 7);
  return unused;
}

static void replace(void) {
  const int file = memfd_create("code", 0);
  if (write(file, "\xb8\x07\x00\x00\x00\xc3", 6) != 6 || ftruncate(file, kPage) != 0) return;
  enum { kRights = PROT_READ | PROT_WRITE | PROT_EXEC };
  shared = mmap(NULL, kPage, kRights, MAP_PRIVATE, file, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, run_there, NULL);
  for (int round = 0; round < kRounds; ++round) {
    mmap(shared, kPage, kRights, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file, 0);
    shared[2048 + round % 512] = 1;
  }
  over = 1;
  pthread_join(thread, NULL);
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, work, (void*)(uintptr_t)(i + 1));
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  replace();
  printf("wrong: %u\n", wrong);
  return 0;
}
