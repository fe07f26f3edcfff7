// Signals that instructions raise, and what handlers do about them: change registers, jump out, run
// on another stack.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

typedef void (*Handler)(int, siginfo_t*, void*);

static void set(int number, Handler handler, int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static long long* registers_of(void* context) { return ((ucontext_t*)context)->uc_mcontext.gregs; }

static void skip_load(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("load from %p: r10 %llx r11 %llx r8 %llx\n", info->si_addr, r[REG_R10], r[REG_R11],
         r[REG_R8]);
  r[REG_RIP] += 3;
  r[REG_RAX] = 77;
}

#define LOAD(reg)                                                                        \
  __asm__ volatile("mov $0x10, %%r10; mov $0x11, %%r11; mov $0x12, %%r8; mov $8, %%" reg \
                   "; mov (%%" reg "), %%rax"                                            \
                   : "=a"(got)                                                           \
                   :                                                                     \
                   : "r8", "r10", "r11", "r12", "rdx");                                  \
  printf("behind it %ld\n", got)

static char other_stack[1 << 16];
static sigjmp_buf away;

static void on_overflow(int number, siginfo_t* info, void* context) {
  char here;
  printf("on the other stack: %d\n",
         &here > other_stack && &here < other_stack + sizeof other_stack);
  siglongjmp(away, 1);
}

static int endless(int n) {
  volatile char room[1000];
  room[0] = (char)n;
  return endless(n + 1) + room[0];
}

static void on_trap(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  // Some virtual processors stay at INT1, which would raise it for ever.
  if (*(unsigned char*)r[REG_RIP] == 0xf1) ++r[REG_RIP];
  printf("trap, code %d, last byte %x\n", info->si_code, *((unsigned char*)r[REG_RIP] - 1));
}
static void on_illegal(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("illegal, at the instruction: %d\n", info->si_addr == (void*)r[REG_RIP]);
  r[REG_RIP] += 2;
}
static void on_division(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("division, code %d, at the instruction: %d\n", info->si_code,
         info->si_addr == (void*)r[REG_RIP]);
  r[REG_RCX] = 1;
}
static void go_back(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("at %llx, address %p, code %d\n", r[REG_RIP], info->si_addr, info->si_code);
  r[REG_RIP] = *(long long*)r[REG_RSP];
  r[REG_RSP] += 8;
}
static void go_back_from_ret(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("returned to %llx, address %p\n", r[REG_RIP], info->si_addr);
  siglongjmp(away, 1);
}
static void save(int number, siginfo_t* info, void* context) { siglongjmp(away, number); }

// The kernel cannot restore a frame that points to no state of the FPU.
static void spoil_frame(int number, siginfo_t* info, void* context) {
  ((ucontext_t*)context)->uc_mcontext.fpregs = (void*)0x10;
  registers_of(context)[REG_R12] = 0x1212;
}
static void on_spoilt(int number, siginfo_t* info, void* context) {
  printf("frame refused: signal %d, code %d, address %p, r12 %llx\n", number, info->si_code,
         info->si_addr, registers_of(context)[REG_R12]);
  siglongjmp(away, number);
}

static void on_rdtsc(int number, siginfo_t* info, void* context) {
  long long* r = registers_of(context);
  printf("rdtsc, signal %d\n", number);
  r[REG_RIP] += 2;
  r[REG_RAX] = 5;
}

// The process may not read the time-stamp counter.
static void without_counter(void) {
  unsigned value = 0;
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  set(SIGSEGV, &on_rdtsc, 0);
  for (int i = 0; i < 2; ++i) {
    __asm__ volatile("rdtsc" : "=a"(value) : : "edx");
    printf("counter %u\n", value);
  }
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
}

static __attribute__((noinline)) int plus_one(int value) { return value + 1; }

// EFLAGS.AC stays whatever the engine writes on the way.
static int losses_of_alignment(void) {
  int (*volatile called)(int) = &plus_one;
  unsigned random = 1;
  int lost = 0;
  for (int i = 0; i < 1000; ++i) {
    unsigned long flags;
    __asm__ volatile("add $-128, %%rsp; pushf; orq $0x40000, (%%rsp); popf; sub $-128, %%rsp"
                     :
                     :
                     : "memory", "cc");
    for (int j = 0; j < i % 40; ++j) {
      random = random * 1664525 + 1013904223;
      if (random >> 31) random ^= called(j);
    }
    __asm__ volatile(
        "add $-128, %%rsp; pushf; mov (%%rsp), %0; andq $~0x40000, (%%rsp); popf; sub $-128, %%rsp"
        : "=r"(flags)
        :
        : "memory", "cc");
    lost += (flags & 0x40000) == 0;
  }
  return lost;
}

int main(void) {
  long got = 0;
  without_counter();
  set(SIGSEGV, &skip_load, 0);
  LOAD("r10");
  LOAD("r11");
  LOAD("rdx");
  stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  sigaltstack(&stack, NULL);
  set(SIGSEGV, &on_overflow, SA_ONSTACK);
  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(away, 1) == 0) endless(1);
    printf("back\n");
  }
  set(SIGTRAP, &on_trap, 0);
  __asm__ volatile("int3; nop");
  __asm__ volatile(".byte 0xf1");  // INT1
  set(SIGILL, &on_illegal, 0);
  __asm__ volatile("ud2");
  set(SIGFPE, &on_division, 0);
  unsigned quotient = 0;
  __asm__ volatile("xor %%edx, %%edx; mov $9, %%eax; xor %%ecx, %%ecx; div %%ecx"
                   : "=a"(quotient)
                   :
                   : "ecx", "edx");
  printf("9 / 1 = %u\n", quotient);

  set(SIGSEGV, &go_back, 0);
  void (*volatile nowhere)(void) = NULL;
  nowhere();
  nowhere = (void (*)(void))0x5000;
  nowhere();
  void* data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(data, 0xc3, 4096);
  nowhere = (void (*)(void))data;  // RET, but not executable
  printf("data is at %p\n", data == NULL ? NULL : (void*)1);
  set(SIGSEGV, &save, 0);
  if (sigsetjmp(away, 1) == 0) nowhere();
  set(SIGSEGV, &go_back_from_ret, 0);
  static const long targets[] = {0, -1, 0x6000};
  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(away, 1) == 0) __asm__ volatile("push %0; ret" : : "r"(targets[i]));
  }
  // A jump through memory that is not there.
  set(SIGSEGV, &save, 0);
  for (int i = 0; i < 100; ++i) {
    if (sigsetjmp(away, 1) == 0) __asm__ volatile("mov $16, %%r11; jmp *(%%r11)" : : : "r11");
  }
  set(SIGBUS, &save, 0);
  if (sigsetjmp(away, 1) == 0) {  // EFLAGS.AC
    __asm__ volatile(
        "lea buffer(%%rip), %%rdx; pushf; orq $0x40000, (%%rsp); popf; call 1f; 1: add $8, %%rsp; movl (%%rdx), %%eax;"
        "movl 1(%%rdx), %%eax; pushf; andq $~0x40000, (%%rsp); popf;"
        ".pushsection .data; .balign 8; buffer: .quad 0, 0; .popsection"
        :
        :
        : "rax", "rdx");
    printf("no fault\n");
  } else {
    __asm__ volatile("pushf; andq $~0x40000, (%%rsp); popf" : : : "memory");
    printf("unaligned\n");
  }
  printf("alignment is not asked for: %d\n", losses_of_alignment());
  set(SIGUSR1, &spoil_frame, 0);
  set(SIGSEGV, &on_spoilt, 0);
  if (sigsetjmp(away, 1) == 0) raise(SIGUSR1);
  printf("done\n");
  return 0;
}
