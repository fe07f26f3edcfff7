// Branches, returns and signal frames that lead where nothing is: what a handler sees of each.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static sigjmp_buf out;
static uint64_t rsp_before;
uint64_t target;

extern char at_jmp[], at_jmp_memory[], at_call[], at_call_memory[], at_ret[], at_ret_16[],
    at_jmp_r10[], at_call_r11[];

static void print_place(uint64_t ip) {
  const struct {
    const char *place, *name;
  } known[] = {{at_jmp, "jmp"},         {at_jmp_memory, "jmp memory"},
               {at_call, "call"},       {at_call_memory, "call memory"},
               {at_ret, "ret"},         {at_ret_16, "ret 16"},
               {at_jmp_r10, "jmp r10"}, {at_call_r11, "call r11"}};
  for (unsigned i = 0; i < sizeof known / sizeof *known; ++i) {
    if (ip == (uint64_t)known[i].place) {
      printf(" at the %s", known[i].name);
      return;
    }
  }
  printf(" at %lx", ip);
}

static void handler(int number, siginfo_t* info, void* context) {
  const greg_t* const r = ((ucontext_t*)context)->uc_mcontext.gregs;
  printf("  signal %d code %x address %lx", number, info->si_code, (long)info->si_addr);
  print_place((uint64_t)r[REG_RIP]);
  printf(" rsp %+ld rax %llx rcx %llx rdx %llx r10 %llx r11 %llx trap %llx\n",
         (long)((uint64_t)r[REG_RSP] - rsp_before), r[REG_RAX], r[REG_RCX], r[REG_RDX], r[REG_R10],
         r[REG_R11], r[REG_TRAPNO]);
  fflush(stdout);
  siglongjmp(out, 1);
}

#define SET                                                                         \
  "mov %%rsp, %0\n mov $0x1111, %%ecx\n mov $0x2222, %%edx\n mov $0x3333, %%r10d\n" \
  "mov $0x4444, %%r11d\n"
#define WITH : "=m"(rsp_before) : "a"(to) : "rcx", "rdx", "r10", "r11", "memory"

// A frame that was never pushed, with nothing in it but where to go on.
static void return_from_signal(uint64_t to) {
  static ucontext_t frame;
  for (int i = 0; i < NGREG; ++i) frame.uc_mcontext.gregs[i] = 0;
  frame.uc_mcontext.gregs[REG_RIP] = (greg_t)to;
  frame.uc_mcontext.gregs[REG_CSGSFS] = 0x002b000000000033;
  rsp_before = 0;
  __asm__ volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall" ::"r"(&frame));
}

static void go(int how, uint64_t to) {
  target = to;
  switch (how) {
    case 0:
      __asm__ volatile(SET "at_jmp: jmp *%%rax" WITH);
      break;
    case 1:
      __asm__ volatile(SET "at_jmp_memory: jmp *target(%%rip)" WITH);
      break;
    case 2:
      __asm__ volatile(SET "at_call: call *%%rax" WITH);
      break;
    case 3:
      __asm__ volatile(SET "at_call_memory: call *target(%%rip)" WITH);
      break;
    case 4:
      __asm__ volatile("push %%rax\n" SET "at_ret: ret" WITH);
      break;
    case 5:
      __asm__ volatile("push %%rax\n" SET "at_ret_16: ret $16" WITH);
      break;
    case 6:
      __asm__ volatile(SET "mov %%rax, %%r10\n at_jmp_r10: jmp *%%r10" WITH);
      break;
    case 7:
      __asm__ volatile(SET "mov %%rax, %%r11\n at_call_r11: call *%%r11" WITH);
      break;
    default:
      return_from_signal(to);
  }
}

int main(void) {
  // Behind user memory, in the kernel's, no address at all, and with nothing mapped there.
  static const uint64_t kTargets[] = {0x4141414141414141,
                                      0x8000000000000000,
                                      0x800000000000,
                                      0xffff7fffffffffff,
                                      0x7fffffffffff,
                                      0x7ffffffff000,
                                      0xffff800000000000,
                                      0xffffffff81000000,
                                      0xffffffffffffffff,
                                      0x41414141,
                                      0xfff0,
                                      1,
                                      0};
  static char other_stack[1 << 16];
  const stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  sigaltstack(&alternate, NULL);
  const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  for (int how = 0; how < 9; ++how) {
    for (unsigned i = 0; i < sizeof kTargets / sizeof *kTargets; ++i) {
      printf("%d to %lx\n", how, kTargets[i]);
      fflush(stdout);
      if (sigsetjmp(out, 1) == 0) go(how, kTargets[i]);
    }
  }
  return 0;
}
