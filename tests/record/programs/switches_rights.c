// A generator with shared memory that is writable or executable, never both: each round it makes
// its function anew. Prints where that is.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kRounds = 50, kBytes = 1 << 20 };

int main(void) {
  uint8_t* code = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int64_t wrong = 0;
  for (int32_t round = 0; round < kRounds; ++round) {
    mprotect(code, kBytes, PROT_READ | PROT_WRITE);
    memset(code, 0x90, round);
    code[round] = 0xb8;  // MOV EAX, round; RET
    memcpy(code + round + 1, &round, sizeof round);
    code[round + 5] = 0xc3;
    mprotect(code, kBytes, PROT_READ | PROT_EXEC);
    wrong += ((int32_t (*)(void))(void*)code)() - round;
  }
  printf("%p\n", (void*)code);
  return wrong != 0;
}
