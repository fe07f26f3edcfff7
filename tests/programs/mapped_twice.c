// Code in memory that is mapped twice, once to be written and once to be executed, as generators
// have it that never may do both in one place: made, replaced by code that lies across it, and put
// back as it was.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*Function)(void);
enum { kPage = 4096 };

// mov ecx, 5; xor eax, eax; again: add eax, 2; sub ecx, 1; jnz again; ret
static const uint8_t kLoop[] = {0xb9, 0x05, 0x00, 0x00, 0x00, 0x31, 0xc0, 0x83,
                                0xc0, 0x02, 0x83, 0xe9, 0x01, 0x75, 0xf8, 0xc3};

int main(void) {
  const int file = memfd_create("code", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kPage) != 0) return 1;
  uint8_t* writable = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  uint8_t* executable = mmap(NULL, kPage, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (writable == MAP_FAILED || executable == MAP_FAILED) return 1;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    memcpy(writable + 32, kLoop, sizeof kLoop);
    sum += ((Function)(executable + 32))();
    // xor eax, eax; nops; ret
    memset(writable + 24, 0x90, 40);
    memcpy(writable + 24, "\x31\xc0", 2);
    writable[64] = 0xc3;
    sum += ((Function)(executable + 24))();
  }
  printf("%d\n", sum);
  return 0;
}
