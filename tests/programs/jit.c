// Code made at run time: written and called in place, rewritten in the same page, made in a page
// that is never writable and executable at once, moved to another address, and made in a private
// mapping of a file.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*Function)(void);
enum { kPage = 4096 };

// mov eax, value; ret: the same bytes in 32- and 64-bit mode.
static size_t emit_return(uint8_t* code, int32_t value) {
  code[0] = 0xb8;
  memcpy(code + 1, &value, 4);
  code[5] = 0xc3;
  return 6;
}

// mov ecx, rounds; xor eax, eax; add eax, step (3 bytes); dec by sub ecx, 1; jnz back; ret
static size_t emit_loop(uint8_t* code, int32_t rounds, int8_t step) {
  uint8_t* at = code;
  *at++ = 0xb9;
  memcpy(at, &rounds, 4);
  at += 4;
  const uint8_t body[] = {0x31, 0xc0, 0x83, 0xc0, (uint8_t)step, 0x83,
                          0xe9, 0x01, 0x75, 0xf8, 0xc3};
  memcpy(at, body, sizeof body);
  return (size_t)(at - code) + sizeof body;
}

static uint8_t* map(int protection) {
  void* page = mmap(NULL, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? NULL : page;
}

static int rewritten_in_place(void) {
  uint8_t* page = map(PROT_READ | PROT_WRITE | PROT_EXEC);
  if (page == NULL) return -1;
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    if (i % 2 == 0) {
      emit_return(page, i);
    } else {
      emit_loop(page, i, 2);
    }
    sum += ((Function)page)();
  }
  munmap(page, kPage);
  return sum;
}

static int written_then_protected(void) {
  uint8_t* page = map(PROT_READ | PROT_WRITE);
  if (page == NULL) return -1;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    mprotect(page, kPage, PROT_READ | PROT_WRITE);
    emit_loop(page + 64, 3 + i, 1);
    mprotect(page, kPage, PROT_READ | PROT_EXEC);
    sum += ((Function)(page + 64))();
  }
  munmap(page, kPage);
  return sum;
}

static int unmapped_and_mapped_again(void) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    uint8_t* page = map(PROT_READ | PROT_WRITE | PROT_EXEC);
    if (page == NULL) return -1;
    emit_return(page, 10 * i);
    sum += ((Function)page)();
    munmap(page, kPage);
  }
  return sum;
}

// A file of memory that is gone when it is mapped, and keeps its zeros: what is written to a
// private mapping is not in it.
static int in_private_file(void) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    const int fd = memfd_create("code", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, kPage) != 0) return -1;
    uint8_t* page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (page == MAP_FAILED) return -1;
    emit_loop(page, 4 + i, 3);
    mprotect(page, kPage, PROT_READ | PROT_EXEC);
    sum += ((Function)page)();
  }
  return sum;
}

int main(void) {
  printf("%d %d %d %d\n", rewritten_in_place(), written_then_protected(),
         unmapped_and_mapped_again(), in_private_file());
  return 0;
}
