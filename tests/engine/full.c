// A process that has as many mappings as it may have: code that changes can no longer be found by
// protecting its page, which would make one more.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kMost = 1 << 17 };

// MOV EAX, value; RET.
static void make(char* at, uint32_t value) {
  at[0] = (char)0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = (char)0xc3;
}
static int call(char* at) { return ((int (*)(void))at)(); }

int main(void) {
  char* const code =
      mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int wrong = 0;
  for (int i = 0; i < 3; ++i) {
    make(code + i * kPage, i);
    wrong += call(code + i * kPage) != i;
  }
  char* const area = mmap(NULL, (size_t)kMost * kPage, PROT_READ,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int full = 0;
  for (int i = 0; i < kMost && !full; i += 2)
    full = mprotect(area + (size_t)i * kPage, kPage, PROT_NONE) != 0;
  // Its page is one of three that are protected together.
  make(code + kPage, 7);
  wrong += call(code + kPage) != 7;
  for (int i = 0; i < 200; ++i) {
    make(code + kPage + i % 3 * 64, i);
    wrong += call(code + kPage + i % 3 * 64) != i;
  }
  munmap(area, (size_t)kMost * kPage);
  for (int i = 0; i < 200; ++i) {
    make(code + kPage + i % 3 * 64, i);
    wrong += call(code + kPage + i % 3 * 64) != i;
  }
  printf("full: %d, wrong: %d\n", full, wrong);
  return 0;
}
