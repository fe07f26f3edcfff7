// The program has all address space taken from it (RLIMIT_AS), and goes on making code.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kArea = 256 << 10, kFunction = 2048, kSteps = 180 };

// uint32_t f(uint32_t): adds, and jumps over some of it.
static void make_function(uint8_t* at, uint32_t seed) {
  memcpy(at, "\x89\xf8", 2);  // MOV EAX, EDI
  at += 2;
  for (unsigned i = 0; i < kSteps; ++i) {
    seed = seed * 1664525 + 1013904223;
    memcpy(at, "\xa8\x10\x75\x05\x05", 5);  // TEST AL, 16; JNZ over; ADD EAX, seed
    memcpy(at + 5, &seed, 4);
    memcpy(at + 9, "\xff\xc0", 2);  // INC EAX
    at += 11;
  }
  *at = 0xc3;
}

static uint32_t run_area(uint8_t* area, uint32_t seed, uint32_t value) {
  for (unsigned i = 0; i < kArea / kFunction; ++i) make_function(area + i * kFunction, seed + i);
  for (unsigned i = 0; i < kArea / kFunction; ++i) {
    value = ((uint32_t (*)(uint32_t))(area + i * kFunction))(value);
  }
  return value;
}

int main(void) {
  uint8_t* area =
      mmap(0, kArea, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("before %08x\n", run_area(area, 1, 1));
  const rlim_t few = 4096;
  const struct rlimit limit = {few, few};
  // By another process: of its own limit the engine's memory is no part.
  const pid_t other = fork();
  if (other == 0) _exit(prlimit(getppid(), RLIMIT_AS, &limit, 0));
  waitpid(other, 0, 0);
  uint32_t value = 1;
  for (unsigned round = 0; round < 20; ++round) value = run_area(area, round, value);
  printf("after %08x\n", value);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("child %08x\n", run_area(area, 7, 7));
    fflush(stdout);
    _exit(3);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  printf("forked: %d, status %x\n", child > 0, child > 0 ? status : 0x300);
  return 0;
}
