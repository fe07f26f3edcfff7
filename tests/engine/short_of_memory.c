// The program has all address space taken from it (RLIMIT_AS), and goes on making code.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_code.h"

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
