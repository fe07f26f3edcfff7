// System calls by INT 0x80 in code of 64 bits: what follows the instruction is a call, a jump, a
// return, a conditional branch; flags and registers; one that a signal ends, with signals that come
// at any time; changes of the signal mask.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { kGetPid = 20, kPause = 29, kGetParent = 64, kSetMask = 126 };  // of 32 bits

long call_behind(long number), jump_behind(long number), return_behind(long number),
    branch_behind(long number);
__asm__(
    ".text\n"
    ".type leaf, @function\n"
    "leaf: addq $1000000, %rax; ret\n"
    ".size leaf, . - leaf\n"
    ".globl call_behind\n.type call_behind, @function\n"
    "call_behind: movq %rdi, %rax; int $0x80; call leaf; ret\n"
    ".size call_behind, . - call_behind\n"
    ".globl jump_behind\n.type jump_behind, @function\n"
    "jump_behind: leaq 1f(%rip), %rcx; movq %rdi, %rax; int $0x80; jmp *%rcx; ud2; 1: ret\n"
    ".size jump_behind, . - jump_behind\n"
    ".globl return_behind\n.type return_behind, @function\n"
    "return_behind: movq %rdi, %rax; int $0x80; ret\n"
    ".size return_behind, . - return_behind\n"
    ".globl branch_behind\n.type branch_behind, @function\n"
    "branch_behind: movq %rdi, %rax; cmpq $20, %rdi; int $0x80; jne 1f; addq $5, %rax; 1: ret\n"
    ".size branch_behind, . - branch_behind\n");

static volatile int alarms;

static void on_alarm(int number) { ++alarms; }

static long call(long number, long first, void* second) {
  long result = number;
  __asm__ volatile("int $0x80"
                   : "+a"(result)
                   : "b"(first), "c"(second), "d"(0L)
                   : "memory", "r8", "r9", "r10", "r11");
  return result;
}

static void every(long microseconds) {
  const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, 0);
}

// Flags that no system call changes, and registers that the kernel gives back.
static void state(void) {
  uint64_t flags = 0x8d7, result = kGetPid;
  register uint64_t eighth __asm__("r8") = 0x123456789abcdef;
  register uint64_t eleventh __asm__("r11") = 0xfedcba987654321;
  __asm__ volatile("pushq %1; popfq; int $0x80; pushfq; popq %1"
                   : "+a"(result), "+r"(flags), "+r"(eighth), "+r"(eleventh)
                   :
                   : "memory", "cc");
  printf("%d %lx %lx %lx\n", result == (uint64_t)getpid(), flags & 0x8d5, eighth, eleventh);
}

int main(void) {
  const long pid = getpid();
  printf("%d %d %d %d %d\n", call_behind(kGetPid) == pid + 1000000, jump_behind(kGetPid) == pid,
         return_behind(kGetPid) == pid, branch_behind(kGetPid) == pid + 5,
         branch_behind(kGetParent) == getppid());
  state();

  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, 0);
  every(2000);
  for (int i = 0; i < 20; ++i) {
    if (call(kPause, 0, 0) != -EINTR) printf("pause ended otherwise\n");
  }
  // Between the calls, and on the way to them.
  every(50);
  int wrong = 0;
  const int before = alarms;
  for (int i = 0; i < 20000 || alarms - before < 20; ++i) wrong += return_behind(kGetPid) != pid;
  every(0);
  printf("%d %d\n", wrong, alarms >= 40);

  // The mask of signals stays as the call has it.
  uint32_t* const mask =
      mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  *mask = UINT32_C(1) << (SIGALRM - 1);
  const int seen = alarms;
  call(kSetMask, SIG_BLOCK, mask);
  raise(SIGALRM);
  const int held = alarms - seen;
  call(kSetMask, SIG_UNBLOCK, mask);
  printf("%d %d\n", held, alarms - seen);
  return 0;
}
