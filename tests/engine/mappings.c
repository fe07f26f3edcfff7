// Memory that changes what it is while code runs in it: mapped, moved, protected and unmapped in
// every way that splits and joins, with READ_IMPLIES_EXEC, by a stack and a heap that grow. With a
// seed as its argument other random calls, and a timer that interrupts.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 64 };

typedef int (*Function)(void);

static sigjmp_buf back;
static void on_fault(int number) { siglongjmp(back, number); }

static void make(char* at, int value) {
  at[0] = (char)0xb8;
  memcpy(at + 1, &value, sizeof(value));
  at[5] = (char)0xc3;
}

// What is there, or how it fails.
static int try(const char* at) {
  const int failed = sigsetjmp(back, 1);
  return failed != 0 ? -failed : ((Function)at)();
}

static uint32_t next = 1;
static uint32_t draw(uint32_t below) {
  next = next * 1664525u + 1013904223u;
  return (next >> 8) % below;
}

static int seeded;
static long sum;
static void mix(int value) { sum = sum * 31 + value; }

// Pages, each with a function, under random calls; then each is tried.
static void shuffle(void) {
  char* const area =
      mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < kPages; ++i) make(area + i * kPage + 64, i);
  static const int rights[] = {PROT_READ, PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC,
                               PROT_NONE, PROT_READ | PROT_WRITE};
  for (int round = 0; round < 300; ++round) {
    char* const at = area + kPage * draw(kPages);
    const size_t size = kPage * (1 + draw(4));
    if (at + size > area + kPages * kPage) continue;
    switch (draw(7)) {
      case 0:
        munmap(at, size);
        break;
      case 1:
        if (mmap(at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at) {
          const int value = (int)draw(1000);
          for (size_t i = 0; i < size; i += kPage) make(at + i + 64, value + (int)i);
        }
        break;
      case 2:
        mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, area + kPage * draw(kPages - 4));
        break;
      case 3:
        if (seeded) madvise(at, size, MADV_DONTNEED);
        break;
      default:
        mprotect(at, size - draw(2), rights[draw(5)]);
    }
    for (int i = 0; i < 4; ++i) mix(try(area + kPage * draw(kPages) + 64));
  }
  for (int i = 0; i < kPages; ++i) mix(try(area + i * kPage + 64));
  munmap(area, kPages * kPage);
}

static void implied(void) {
  char* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(page, 5);
  mix(try(page));
  const int before = personality(0xffffffff);
  personality(before | READ_IMPLIES_EXEC);
  char* const other = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(other, 6);
  mix(try(other));
  mprotect(page, kPage, PROT_READ);
  mix(try(page));
  personality(before);
}

static void heap(void) {
  char* const at = sbrk(64 * kPage);
  make(at + 40 * kPage, 77);
  mprotect((char*)(((uintptr_t)at + 40 * kPage) & -(uintptr_t)kPage), 2 * kPage,
           PROT_READ | PROT_WRITE | PROT_EXEC);
  mix(try(at + 40 * kPage));
  sbrk(-64 * kPage);
  mix(try(at + 40 * kPage));
}

// Where SBCL, Wine and programs that want 32-bit addresses put what is theirs.
static void fixed_places(void) {
  static const uintptr_t places[] = {0x10000000, 0x40000000, 0x50000000, 0x58000000, 0x7ffe0000};
  for (int i = 0; i < 5; ++i) {
    void* const at = mmap((void*)places[i], 1 << 20, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    printf("%p\n", at);
  }
  void* const low = mmap(NULL, 512 << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0);
  printf("32 bits: %d\n", low != MAP_FAILED);
}

static volatile sig_atomic_t ticks;
static void tick(int number) { ++ticks; }
static void begin(const char* seed) {
  const struct itimerval often = {{0, 200}, {0, 200}};
  seeded = 1;
  next = (uint32_t)atoi(seed) * 2654435761u + 1;
  const struct sigaction act = {.sa_handler = tick, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigaction(SIGALRM, &act, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char** argv) {
  if (argc > 1) begin(argv[1]);
  fixed_places();
  char* const stack = malloc(65536);
  const stack_t other = {.ss_sp = stack, .ss_size = 65536};
  sigaltstack(&other, NULL);
  struct sigaction act = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &act, NULL);
  sigaction(SIGBUS, &act, NULL);
  shuffle();
  implied();
  heap();
  printf("%ld\n", sum);
  return 0;
}
