// Instructions that a processor refuses, or that only some processors know, each alone at one
// place, with a stack that is there and with some that are not. Prints for each which signal came,
// where, and with which registers: as natively, on whatever processor this is.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
  kCode = 0x10000000,
  kElsewhere = kCode + 0x200,
  kMemory = kCode + 0x1000,
  kReadOnly = kCode + 0x3000
};

static const struct {
  const char* name;
  unsigned char size, bytes[17];
} kForms[] = {
#define B(...) \
  sizeof((unsigned char[]){__VA_ARGS__}), { __VA_ARGS__ }
    // Branches with LOCK.
    {"lock jmp rel8", B(0xf0, 0xeb, 0)},
    {"lock jmp rel32", B(0xf0, 0xe9, 0, 0, 0, 0)},
    {"lock jz rel8", B(0xf0, 0x74, 0)},
    {"lock jnz rel32", B(0xf0, 0x0f, 0x85, 0, 0, 0, 0)},
    {"lock call rel32", B(0xf0, 0xe8, 0, 0, 0, 0)},
    {"lock jmp rax", B(0xf0, 0xff, 0xe0)},
    {"lock call rax", B(0xf0, 0x48, 0xff, 0xd0)},
    {"lock jmp [rdx]", B(0xf0, 0xff, 0x22)},
    {"lock call [rdx]", B(0xf0, 0xff, 0x12)},
    {"lock ret", B(0x66, 0xf0, 0xc3)},
    {"lock ret 8", B(0xf0, 0xc2, 8, 0)},
    {"lock loop", B(0xf0, 0xe2, 0)},
    {"lock jrcxz", B(0xf0, 0xe3, 0)},
    {"lock syscall", B(0xf0, 0x0f, 0x05)},
    {"lock int 80", B(0xf0, 0xcd, 0x80)},
    {"lock int3", B(0xf0, 0xcc)},
    {"lock retf", B(0xf0, 0xcb)},
    {"lock lea", B(0xf0, 0x48, 0x8d, 0x05, 0, 0, 0, 0)},
    {"lock inc [rip]", B(0xf0, 0xff, 0x05, 0x08, 0, 0, 0)},
    // Near branches that AMD's processors read as 16 bits wide.
    {"data16 ret", B(0x66, 0xc3)},
    {"data16 ret 8", B(0x66, 0xc2, 8, 0)},
    {"data16 jmp rax", B(0x66, 0xff, 0xe0)},
    {"data16 call rax", B(0x66, 0xff, 0xd0)},
    {"data16 call [rdx]", B(0x66, 0xff, 0x12)},
    {"data16 rex.w jmp rax", B(0x66, 0x48, 0xff, 0xe0)},
    {"data16 jmp rel", B(0x66, 0xe9, 0, 0, 0, 0)},
    {"data16 jmp rel8", B(0x66, 0xeb, 0)},
    {"data16 call rel", B(0x66, 0xe8, 0, 0, 0, 0)},
    {"data16 jz rel8", B(0x66, 0x74, 0)},
    {"data16 jz rel", B(0x66, 0x0f, 0x84, 0, 0, 0, 0)},
    {"data16 loop", B(0x66, 0xe2, 0)},
    {"data16 jrcxz", B(0x66, 0xe3, 0)},
    // Other prefixes of branches mean nothing, or something else than a branch.
    {"bnd jmp", B(0xf2, 0xeb, 0)},
    {"bnd ret", B(0xf2, 0xc3)},
    {"rep ret", B(0xf3, 0xc3)},
    {"notrack jmp rax", B(0x3e, 0xff, 0xe0)},
    {"rex.w jmp", B(0x48, 0xeb, 0)},
    {"addr32 loop", B(0x67, 0xe2, 0)},
    {"addr32 jmp [rdx]", B(0x67, 0xff, 0x22)},
    {"jmp gs:[rax]", B(0x65, 0xff, 0x20)},
    {"15 bytes of jmp",
     B(0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xeb, 0)},
    {"16 bytes of jmp", B(0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e,
                          0x2e, 0x2e, 0xeb, 0)},
    {"16 bytes of call",
     B(0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xe8, 0, 0, 0, 0)},
    {"16 bytes of nop", B(0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e,
                          0x2e, 0x2e, 0x2e, 0x90)},
    // Plain ones, for the stacks.
    {"call rel32", B(0xe8, 0, 0, 0, 0)},
    {"call rax", B(0xff, 0xd0)},
    {"call [rdx]", B(0xff, 0x12)},
    {"ret", B(0xc3)},
    {"ret 8", B(0xc2, 8, 0)},
    {"push rax", B(0x50)},
    {"pop rax", B(0x58)},
    {"push [rdx]", B(0xff, 0x32)},
    {"pop [rdx+32]", B(0x8f, 0x42, 32)},
    {"pushf", B(0x9c)},
    {"popf", B(0x9d)},
    {"enter", B(0xc8, 8, 0, 0)},
    {"leave, rbp 0", B(0xc9)},
    {"call [rsp+8]", B(0xff, 0x54, 0x24, 8)},
    {"jmp [rsp+8]", B(0xff, 0x64, 0x24, 8)},
    // Of the kernel alone, or of nobody.
    {"hlt", B(0xf4)},
    {"in", B(0xec)},
    {"cli", B(0xfa)},
    {"int 3, two bytes", B(0xcd, 3)},
    {"int 4", B(0xcd, 4)},
    {"int 81", B(0xcd, 0x81)},
    {"into", B(0xce)},
    {"retf", B(0xcb)},
    {"iretq", B(0x48, 0xcf)},
    {"call far [rdx]", B(0xff, 0x1a)},
    {"jmp far [rdx]", B(0xff, 0x2a)},
    {"call far rax", B(0xff, 0xd8)},
    {"ff /7", B(0xff, 0xf8)},
    {"sysenter", B(0x0f, 0x34)},
    {"sysretq", B(0x48, 0x0f, 0x07)},
    {"sysexit", B(0x0f, 0x35)},
    {"ud0", B(0x0f, 0xff, 0xc0)},
    {"ud1", B(0x0f, 0xb9, 0xc0)},
    {"ud2", B(0x0f, 0x0b)},
    {"vmcall", B(0x0f, 0x01, 0xc1)},
    {"vmmcall", B(0x0f, 0x01, 0xd9)},
    {"swapgs", B(0x0f, 0x01, 0xf8)},
    {"uiret", B(0xf3, 0x0f, 0x01, 0xec)},
    {"mov cr3, rax", B(0x0f, 0x22, 0xd8)},
    {"mov dr7, rax", B(0x0f, 0x23, 0xf8)},
    {"xsetbv", B(0x0f, 0x01, 0xd1)},
    {"wrss", B(0x0f, 0x38, 0xf6, 0x02)},
    {"xabort outside", B(0xc6, 0xf8, 1)},
    {"rex2", B(0xd5, 0x01, 0x89, 0xc0)},
    {"vex with rex", B(0x48, 0xc5, 0xf8, 0x77)},
#undef B
};

static const struct {
  const char* name;
  unsigned long rsp;  // 0: one that is there
} kStacks[] = {
    {"", 0},
    {", stack of nobody", 0x5008},
    {", stack that is no address", 0x8000000000000100},
    {", stack that cannot be written", kReadOnly + 0x800},
    {", stack that begins", kReadOnly + 0x1000},
};

static sigjmp_buf next;
static const char *form, *stack;

static void say(int number, siginfo_t* info, void* context) {
  const long long* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned long sp = (unsigned long)r[REG_RSP];
  printf(
      "%s%s: signal %d, code %d, address %p, rip %llx, rsp %lx, rax %llx, rcx %llx, error %llx, trap %llx, flags %llx\n",
      form, stack, number, info->si_code, info->si_addr, r[REG_RIP], sp, r[REG_RAX], r[REG_RCX],
      r[REG_ERR], r[REG_TRAPNO], r[REG_EFL] & 0xfff & ~0x10);
  fflush(stdout);
  siglongjmp(next, 1);
}

static void run(const unsigned char* bytes, unsigned size, unsigned long rsp) {
  unsigned char* const code = (unsigned char*)kCode;
  unsigned long* const memory = (unsigned long*)kMemory;
  memset(code, 0x90, 0x1000);
  memcpy(code, bytes, size);
  memcpy(code + size, "\x0f\x0b", 2);  // went on
  memcpy((void*)kElsewhere, "\x0f\x0b", 2);
  for (int i = 0; i < 0x200; ++i) memory[i] = kElsewhere;
  memory[1] = 0x33;
  if (rsp == 0) rsp = kMemory + 0x800;
  __asm__ volatile(
      "mov %0, %%rsp; xor %%ebp, %%ebp; xor %%ebx, %%ebx; mov $3, %%ecx; cmp %%ebx, %%ebx; jmp *%1"
      :
      : "r"(rsp), "S"((unsigned long)kCode), "a"((unsigned long)kElsewhere), "d"(memory)
      : "memory");
  __builtin_unreachable();
}

int main(void) {
  static char other_stack[1 << 16];
  const stack_t aside = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  sigaltstack(&aside, NULL);
  static const int kSignals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
  for (unsigned i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) {
    const struct sigaction action = {.sa_sigaction = &say, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(kSignals[i], &action, NULL);
  }
  if (mmap((void*)kCode, 0x5000, PROT_READ | PROT_WRITE | PROT_EXEC,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    return 1;
  }
  for (int i = 0; i < 0x200; ++i)
    ((unsigned long*)kReadOnly)[i] = ((unsigned long*)(kReadOnly + 0x1000))[i] = kElsewhere;
  mprotect((void*)kReadOnly, 0x1000, PROT_READ);
  for (unsigned s = 0; s < sizeof kStacks / sizeof *kStacks; ++s) {
    for (unsigned i = 0; i < sizeof kForms / sizeof *kForms; ++i) {
      form = kForms[i].name;
      stack = kStacks[s].name;
      if (sigsetjmp(next, 1) == 0) run(kForms[i].bytes, kForms[i].size, kStacks[s].rsp);
    }
  }
  return 0;
}
