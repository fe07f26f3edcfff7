// Handlers of signals whose frame the kernel does not write: where an alternate stack that the
// thread is on has no room for it, and without a restorer. What it takes of a frame's flags, and
// of an action's. Each in a child of its own; prints what came of it.
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kAutoDisarm = 1u << 31, kDeepest = 40, kStack = 1 << 16, kBelow = 1 << 20 };

static int depth;
static void say(const char* text) { write(1, text, strlen(text)); }

static void nests(int number) {
  if (++depth == kDeepest) return say("as deep as it goes\n");
  raise(number);
}

static void comes(int number) { say("came\n"); }

// Below the alternate stack there is room, too.
static void by_stack(unsigned flags, int action_flags) {
  char* memory =
      mmap(NULL, kBelow + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {memory + kBelow, (int)flags, kStack};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = nests, .sa_flags = action_flags | SA_NODEFER};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  say("through\n");
}

static void on_the_alternate_stack(void) { by_stack(0, SA_ONSTACK); }
static void on_one_that_is_disarmed(void) { by_stack(kAutoDisarm, SA_ONSTACK); }
static void on_the_plain_stack(void) { by_stack(0, 0); }
static void without_a_restorer(void) {
  unsigned long action[4] = {(unsigned long)comes, 0, 0, 0};  // the kernel's
  syscall(SYS_rt_sigaction, SIGUSR1, action, NULL, 8);
  raise(SIGUSR1);
  say("through\n");
}

static void keeps_the_flags_that_it_knows(void) {
  for (int bit = 0; bit < 64; bit++) {
    unsigned long action[4] = {(unsigned long)comes, 1ul << bit, 0, ~0ul}, now[4] = {0};
    syscall(SYS_rt_sigaction, SIGUSR1, action, NULL, 8);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, now, 8);
    printf("%lx %lx, ", now[1], now[3]);
  }
  puts("");
  fflush(stdout);
}

static void sets_all_flags(int number, siginfo_t* info, void* context) {
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] = ~0x100ll;  // but TF
}
static void returns_with_flags(void) {
  struct sigaction action = {.sa_sigaction = sets_all_flags, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  long call = SYS_tkill, flags;
  __asm__ volatile("syscall; pushf; popq %1; pushq $0x202; popf"
                   : "+a"(call), "=r"(flags)
                   : "D"(getpid()), "S"(SIGUSR1)
                   : "rcx", "r11", "memory", "cc");
  printf("%lx\n", flags);
  fflush(stdout);
}

// What the x87 unit was asked for last, and what is blocked, as old programs look for it.
extern const char divides[];
static void tells_of_division(int number, siginfo_t* info, void* context) {
  const mcontext_t* const machine = &((ucontext_t*)context)->uc_mcontext;
  printf("%d: %ld %llx\n", number, (long)(machine->fpregs->rip - (unsigned long)divides),
         machine->gregs[REG_OLDMASK]);
  fflush(stdout);
  _exit(0);
}
static void divides_by_zero(void) {
  static const double one = 1, zero = 0;
  static const unsigned short control = 0x37b;  // but for division by zero all are masked
  struct sigaction action = {.sa_sigaction = tells_of_division, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &action, NULL);
  __asm__ volatile("fninit; fldcw %2; fldl %0; .globl divides; divides: fdivl %1; nop; fwait"
                   :
                   : "m"(one), "m"(zero), "m"(control));
}

// A frame with a stack segment that cannot be: the return by it fails, and the handler of that sees
// what the frame said, but runs with one that can be.
static unsigned short segment;
static unsigned short* segment_in(void* context) {
  return (unsigned short*)&((ucontext_t*)context)->uc_mcontext.gregs[REG_CSGSFS] + 3;
}
static void takes_segment(int number, siginfo_t* info, void* context) {
  *segment_in(context) = segment;
}
static void tells_of_segment(int number, siginfo_t* info, void* context) {
  const mcontext_t* const machine = &((ucontext_t*)context)->uc_mcontext;
  unsigned now = 0;
  __asm__("movl %%ss, %0" : "=r"(now));
  printf("%d %x: %llx %llx, %x then, %x now\n", number, info->si_code, machine->gregs[REG_TRAPNO],
         machine->gregs[REG_ERR], *segment_in(context), now);
  fflush(stdout);
  *segment_in(context) = 0x2b;
}
static void returns_with_segment(unsigned short selector) {
  struct sigaction action = {.sa_sigaction = tells_of_segment, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  action.sa_sigaction = takes_segment;
  sigaction(SIGUSR1, &action, NULL);
  segment = selector;
  raise(SIGUSR1);
  say("went on\n");
}
static void returns_with_no_segment(void) { returns_with_segment(0x47); }  // of the local table
static void returns_with_an_absent_segment(void) {
  struct user_desc absent = {.seg_32bit = 1, .limit = 10, .seg_not_present = 1};
  syscall(SYS_modify_ldt, 0x11, &absent, sizeof absent);
  returns_with_segment(0x07);
}

int main(void) {
  void (*const cases[])(void) = {
      on_the_alternate_stack, on_one_that_is_disarmed,       on_the_plain_stack,
      without_a_restorer,     keeps_the_flags_that_it_knows, returns_with_flags,
      divides_by_zero,        returns_with_no_segment,       returns_with_an_absent_segment};
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      cases[i]();
      _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    printf("%u: %x\n", i, status);
    fflush(stdout);
  }
  return 0;
}
