// Code on a stack that was made executable from one page of it downwards, as glibc's dlopen() does
// for a library that needs such a stack: on that page, and on pages below.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kPages = 8 };

static int leaf(int value) { return value + 1; }

static __attribute__((noinline)) int run(unsigned char* at) {
  int (*const target)(int) = leaf;
  memcpy(at, "\x48\xb8", 2);  // MOV RAX, leaf; JMP RAX
  memcpy(at + 2, &target, sizeof target);
  memcpy(at + 10, "\xff\xe0", 2);
  return ((int (*)(int))(void*)at)(1);
}

int main(void) {
  unsigned char room[kPages * kPage];
  memset(room, 0, sizeof room);
  unsigned char* const last = room + (kPages - 1) * kPage;
  void* const page = (void*)((uintptr_t)last & ~(uintptr_t)(kPage - 1));
  int sum = mprotect(page, kPage, PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN);
  for (int i = kPages - 1; i >= 0; --i) sum += run(room + i * kPage);
  printf("%d\n", sum);
  return 0;
}
