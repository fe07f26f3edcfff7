// Made code: calls of one function, one after the other. Prints where that begins.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kCalls = 4000, kCallBytes = 5, kFunction = kCallBytes * kCalls + 1, kBytes = 1 << 16 };

int main(void) {
  uint8_t* code = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int32_t at = 0; at < kFunction - 1; at += kCallBytes) {
    const int32_t distance = kFunction - (at + kCallBytes);
    code[at] = 0xe8;  // CALL
    memcpy(code + at + 1, &distance, sizeof distance);
  }
  code[kFunction - 1] = code[kFunction] = 0xc3;  // RET
  mprotect(code, kBytes, PROT_READ | PROT_EXEC);
  printf("%p\n", (void*)(code + kFunction));
  ((void (*)(void))(void*)code)();
  return 0;
}
