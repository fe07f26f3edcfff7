// Code that rewrites itself while it runs: an instruction stores into its own page, into an
// instruction further on in the same straight line.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kRounds = 6 };

// int f(uint8_t* patch, int value): stores the low byte of `value` at `patch`, which is the
// immediate of the `mov eax, imm32` that follows, then loops that many times adding 1.
static const uint8_t kCode[] = {
    0x40, 0x88, 0x37,              // mov [rdi], sil
    0xb8, 0x00, 0x00, 0x00, 0x00,  // mov eax, imm32       <- patched
    0x89, 0xc1,                    // mov ecx, eax
    0x83, 0xc0, 0x01,              // add eax, 1
    0x83, 0xe9, 0x01,              // sub ecx, 1
    0x75, 0xf8,                    // jnz add
    0xc3,                          // ret
};
enum { kImmediate = 4 };

int main(void) {
  uint8_t* page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  memcpy(page, kCode, sizeof kCode);
  int (*function)(uint8_t*, int) = (int (*)(uint8_t*, int))page;
  int sum = 0;
  for (int i = 1; i <= kRounds; ++i) sum += function(page + kImmediate, i);
  printf("sum %d\n", sum);
  return sum == kRounds * (kRounds + 1) ? 0 : 1;
}
