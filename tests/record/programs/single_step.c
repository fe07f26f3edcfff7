// A program that sets EFLAGS.TF itself: by POPF and by IRETQ, by the frame of a handler; over
// jumps, calls, returns, repeated instructions, system calls, PUSHF, faults and the signals of a
// timer, in a child, and where nobody handles the trap. Every place that it was told of is printed.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kTf = 0x100, kMost = 1 << 16 };

extern char code_begin[], code_end[];
static int32_t places[kMost];
static unsigned count, elsewhere, wrong;
static volatile sig_atomic_t ticks, stop_after;

static void on_step(int number, siginfo_t* info, void* context) {
  greg_t* const r = ((ucontext_t*)context)->uc_mcontext.gregs;
  char* const at = (char*)r[REG_RIP];
  if (number != SIGTRAP || info->si_code != TRAP_TRACE || info->si_addr != at) ++wrong;
  if (at >= code_begin && at < code_end) {
    const int flags = (r[REG_EFL] & kTf) != 0;
    if (count < kMost) places[count++] = (int32_t)(at - code_begin) * 2 + flags;
  } else {
    ++elsewhere;
  }
  if (stop_after > 0 && --stop_after == 0) r[REG_EFL] &= ~(greg_t)kTf;
}

static void on_user(int number, siginfo_t* info, void* context) {
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] |= kTf;
  if (number == SIGILL) ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void on_timer(int number) {
  (void)number;
  ++ticks;
}

// TF is on between SET and CLEAR.
#define SET "pushfq\n orl $0x100, (%rsp)\n popfq\n"
#define CLEAR "pushfq\n andl $~0x100, (%rsp)\n popfq\n"

__asm__(
    ".text\n.balign 64\ncode_begin:\n"
    "plain: " SET
    "nop\n xor %eax, %eax\n 1: inc %eax\n cmp $5, %eax\n jne 1b\n jmp 2f\n ud2\n"
    "2: jmp 3f\n nop\n 3: jmp 4f\n 4: lea 5f(%rip), %rcx\n jmp *%rcx\n ud2\n 5: endbr64\n" CLEAR
    "ret\n"
    "calls: " SET
    "call leaf\n lea leaf(%rip), %rax\n call *%rax\n call leaf\n call 6f\n 6: pop %rax\n" CLEAR
    "ret\n"
    "leaf: push %rbx\n mov %rsp, %r10\n mov %r10, %r11\n add $1, %r11\n pop %rbx\n ret\n"
    "repeated: " SET
    "lea space(%rip), %rdi\n mov $7, %ecx\n xor %eax, %eax\n rep stosb\n mov $3, %ecx\n"
    "  7: loop 7b\n jrcxz 8f\n nop\n 8: mov $2, %ecx\n repne scasb\n" CLEAR
    "ret\n"
    "flags: " SET
    "pushfq\n pop %rax\n shr $8, %eax\n and $1, %eax\n lea space(%rip), %rdx\n add %eax, (%rdx)\n"
    "  pushfw\n popfw\n pushfw\n andw $0xfeff, (%rsp)\n popfw\n nop\n nop\n ret\n"
    "calls_kernel: " SET
    "mov $39, %eax\n syscall\n mov $186, %eax\n syscall\n nop\n mov %r11, %rdx\n" CLEAR
    "  mov %edx, %eax\n shr $8, %eax\n and $1, %eax\n ret\n"
    "faults: " SET "nop\n ud2\n nop\n nop\n" CLEAR
    "ret\n"
    "returns: mov %ss, %eax\n mov %rsp, %rcx\n push %rax\n push %rcx\n pushfq\n orl $0x100, (%rsp)\n mov %cs, %eax\n"
    "  push %rax\n lea 9f(%rip), %rax\n push %rax\n iretq\n ud2\n 9: nop\n nop\n" CLEAR
    "ret\n"
    "swaps: " SET "push %rbp\n mov %ss, %eax\n mov %eax, %ss\n nop\n pop %rbp\n nop\n" CLEAR
    "ret\n"
    "kills: ud2\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n ret\n"
    "code_end:\n"
    ".bss\nspace: .zero 64\n.text\n");
extern uint32_t space[];

long plain(void), calls(void), repeated(void), flags(void), calls_kernel(void), faults(void),
    returns(void), swaps(void), kills(void);

static void show(const char* name, long (*run)(void), int result) {
  count = elsewhere = wrong = 0;
  const long got = run();
  printf("%s%s%ld: elsewhere %u, wrong %u:", name, result ? " = " : " ", result ? got : 0,
         elsewhere, wrong);
  for (unsigned i = 0; i < count; ++i) printf(" %x%s", places[i] >> 1, places[i] & 1 ? "" : "'");
  printf("\n");
}

static long in_library(void) {
  char text[64];
  __asm__ volatile("pushfq\n orl $0x100, (%%rsp)\n popfq" ::: "cc", "memory");
  const int got = snprintf(text, sizeof text, "%d %s", 12345, "abc");
  __asm__ volatile("pushfq\n andl $~0x100, (%%rsp)\n popfq" ::: "cc", "memory");
  return got;
}

static long from_handler(void) {
  stop_after = 100;
  raise(SIGUSR1);
  return 0;
}

static long loop(void) {
  unsigned sum = 0;
  __asm__ volatile(
      "pushfq\n orl $0x100, (%%rsp)\n popfq\n mov $3000, %%ecx\n"
      "1: add %%ecx, %0\n push %%rcx\n pop %%rdx\n dec %%ecx\n jnz 1b\n"
      "pushfq\n andl $~0x100, (%%rsp)\n popfq"
      : "+r"(sum)::"cc", "memory", "rcx", "rdx");
  return sum;
}

static void in_child(const char* name, void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: %s %d\n", name, WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void with_trap_blocked(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  sigprocmask(SIG_BLOCK, &set, NULL);
  plain();
}
static void with_trap_ignored(void) {
  signal(SIGTRAP, SIG_IGN);
  plain();
}
static void with_default(void) {
  signal(SIGTRAP, SIG_DFL);
  plain();
}

// fork with TF on: the child steps on, too.
static void forks(void) {
  count = elsewhere = 0;
  stop_after = 40;
  long got = 0;
  __asm__ volatile("pushfq\n orl $0x100, (%%rsp)\n popfq\n mov $57, %%eax\n syscall\n nop\n nop"
                   : "=a"(got)::"rcx", "r11", "cc", "memory");
  while (stop_after > 0) __asm__ volatile("nop");
  if (got == 0) {
    printf("in the child %u\n", elsewhere);
    fflush(stdout);
    _exit(0);
  }
  waitpid(got, NULL, 0);
  printf("in the parent %u\n", elsewhere);
}

int main(void) {
  struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &step, NULL);
  struct sigaction user = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &user, NULL);
  sigaction(SIGILL, &user, NULL);
  show("plain", plain, 0);
  show("plain", plain, 0);
  show("calls", calls, 0);
  show("repeated", repeated, 0);
  show("flags", flags, 0);
  printf("seen %u\n", *space);
  show("system calls", calls_kernel, 1);
  show("faults", faults, 0);
  show("iretq", returns, 0);
  show("mov ss", swaps, 0);
  stop_after = 6;
  show("from a handler", kills, 0);
  show("behind raise", from_handler, 0);
  show("library", in_library, 1);
  struct sigaction tick = {.sa_handler = on_timer};
  sigaction(SIGALRM, &tick, NULL);
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  show("loop", loop, 1);
  setitimer(ITIMER_REAL, &never, NULL);
  printf("ticks %s\n", ticks > 0 ? "came" : "did not come");
  in_child("blocked", with_trap_blocked);
  in_child("ignored", with_trap_ignored);
  in_child("default", with_default);
  in_child("forks", forks);
  return 0;
}
