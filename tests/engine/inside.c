// Looks for executable memory that it has not asked for and can write to, and tries to run code of
// its own there. Natively there is none; on the engine there is the engine's, where as natively
// nothing of the program's runs.
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile uint64_t target;
static volatile int wrong;

static void handler(int number, siginfo_t* info, void* context) {
  const greg_t* const r = ((ucontext_t*)context)->uc_mcontext.gregs;
  wrong |= number != SIGSEGV || info->si_code != SEGV_MAPERR || (uint64_t)info->si_addr != target ||
           (uint64_t)r[REG_RIP] != target || (uint64_t)r[REG_CR2] != target ||
           r[REG_TRAPNO] != 14 || r[REG_ERR] != 0x14;
  siglongjmp(out, 1);
}

// Where the memory ends in zeros: nobody has put anything there yet.
static uint8_t* unused_place(uint64_t start, uint64_t end) {
  uint8_t* const last = (uint8_t*)end - 64;
  for (int i = 0; i < 64; ++i) {
    if (last[i] != 0) return NULL;
  }
  return end - start < 128 ? NULL : last;
}

static int runs(uint8_t* place) {
  static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // MOV EAX, 42; RET
  for (unsigned i = 0; i < sizeof code; ++i) place[i] = code[i];
  target = (uint64_t)place;
  int got = 0;
  if (sigsetjmp(out, 1) == 0) got = ((int (*)(void))place)();
  for (unsigned i = 0; i < sizeof code; ++i) place[i] = 0;
  return got == 42;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[8192];
  int ran = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    uint64_t start, end;
    char rights[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, rights) != 3) continue;
    if (rights[1] != 'w' || rights[2] != 'x') continue;
    uint8_t* const place = unused_place(start, end);
    if (place != NULL) ran += runs(place);
  }
  printf("%d ran, %d wrong\n", ran, wrong);
  return 0;
}
