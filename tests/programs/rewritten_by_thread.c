// Code that another thread rewrites: one thread writes a function anew and calls it first, the
// other sees a flag and calls it at once, with no system call in between. What it executes is
// younger than anything else that says when it ran.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kRounds = 60 };

// int f(int value), in two forms whose branches differ: value + 1, and value + 1 where bit 0 is
// clear.
static const uint8_t kForms[2][16] = {
    {
        0x8d, 0x47, 0x01,  // lea eax, [rdi+1]
        0xc3,              // ret
    },
    {
        0x89, 0xf8,              // mov eax, edi
        0x40, 0xf6, 0xc7, 0x01,  // test dil, 1
        0x75, 0x03,              // jnz over
        0x83, 0xc0, 0x01,        // add eax, 1
        0xc3,                    // over: ret
    },
};

static uint8_t* page;
static atomic_int written, called;

// Passes time with next to no branches: a trace of them would say what time it is.
static void dawdle(void) { __asm__ volatile(".rept 16\n fldpi\n fsin\n fstp %st(0)\n .endr"); }

// Looks often before it lets others run, so that what was awaited is mostly seen without a system
// call.
static void await(atomic_int* progress, int round) {
  for (int looks = 1; atomic_load(progress) < round; ++looks) {
    dawdle();
    if (looks % 2000 == 0) sched_yield();
  }
}

static int call(int value) { return ((int (*)(int))page)(value); }

static void* caller(void* sum) {
  for (int round = 1; round <= kRounds; ++round) {
    await(&written, round);
    for (int i = 0; i < 8; ++i) *(long*)sum += call(i);
    atomic_store(&called, round);
  }
  return NULL;
}

int main(void) {
  page = mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  long sum = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, caller, &sum) != 0) return 1;
  for (int round = 1; round <= kRounds; ++round) {
    memcpy(page, kForms[round % 2], sizeof kForms[0]);
    call(0);
    atomic_store(&written, round);
    await(&called, round);
  }
  pthread_join(thread, NULL);
  printf("sum %ld\n", sum);
  return 0;
}
