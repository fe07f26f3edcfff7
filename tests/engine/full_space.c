// Whatever the program does to its memory, it goes on: it runs code that has nothing but its own
// reservations around it, fills all of its address space with mappings, gives itself limits, makes
// as many mappings as it may have, and goes on making code, threads and processes all the same.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "made_code.h"

enum { kPage = 4096, kThreads = 3, kStack = 256 << 10 };
static const size_t kGigabyte = (size_t)1 << 30;

// --- code far from everything: operands beside it, by every kind of encoding

extern const char far_begin[], far_fault[], far_data[], far_end[];
asm(R"(
  .pushsection .rodata
  .globl far_begin, far_fault, far_data, far_end
far_begin:                          # uint64_t far(uint64_t): a sum that depends on all of it
  push %rbx
  push %r12
  mov %rdi, %rax
  lea 1f(%rip), %rbx
  sub far_begin(%rip), %rbx
  add far_data(%rip), %rax
  mov far_data+8(%rip), %ecx
  add %rcx, %rax
  mov far_data+8(%rip), %ch
  add %rcx, %rax
  mov far_data+8(%rip), %rsi
  mov %rdi, %rdx
  xor far_data+16(%rip), %rdi
  lea (%rax,%rsi,2), %rax
  xor %rdi, %rax
  mov far_data+8(%rip), %r10
  mov $77, %r11d
  add far_data+16(%rip), %r11
  xchg %r10, far_data+24(%rip)
  xor %r10, %rax
  add %r11, %rax
  xor far_data+24(%rip), %rax
  mov %rdx, %rdi
  stc
  mov far_data(%rip), %dl
  adc $0, %rax
  movl $0x12345678, far_data+24(%rip)
  addb $0x11, far_data+25(%rip)
  shlq %cl, far_data+24(%rip)
  cmpw $7, far_data+16(%rip)
  setb %dl
  movzbl %dl, %edx
  add %rdx, %rax
  imul $3, far_data+16(%rip), %r12
  add %r12, %rax
  pushq far_data+8(%rip)
  popq far_data+32(%rip)
  add far_data+32(%rip), %rax
  movdqu far_data(%rip), %xmm0
  movdqu far_data+16(%rip), %xmm9
  paddq far_data+16(%rip), %xmm0
  pxor %xmm9, %xmm0
  movq %xmm0, %rdx
  add %rdx, %rax
  lea 1f(%rip), %rdx
  mov %rdx, far_data+40(%rip)
  call *far_data+40(%rip)
  lea 2f(%rip), %rdx
  mov %rdx, far_data+40(%rip)
  jmp *far_data+40(%rip)
  ud2
1:
  add %rsp, far_data+48(%rip)
  add $5, %rax
  ret
2:
  pop %r12
  pop %rbx
  ret
far_fault:                          # void fault(struct *): what a handler sees of the registers
  push %rsi
  mov $0x51, %esi
  mov $0xd1, %edi
  mov $0x10, %r10d
  mov $0x11, %r11d
  mov far_begin-4096(%rip), %eax
  mov far_begin-4096(%rip), %rsi
  add %r10, far_begin-4096(%rip)
  pop %rsi
  ret
  .balign 16
far_data:
  .quad 0x0123456789abcdef, 0xfedcba9876543210, 0x1111111122222222, 0x33, 0, 0, 0
far_end:
  .popsection
)");

static void on_fault(int number, siginfo_t* info, void* of) {
  mcontext_t* at = &((ucontext_t*)of)->uc_mcontext;
  greg_t* r = at->gregs;
  printf("fault: %llx %llx %llx %llx, page %ld\n", r[REG_RSI], r[REG_RDI], r[REG_R10], r[REG_R11],
         (long)info->si_addr & 4095);
  const uint8_t* code = (const uint8_t*)r[REG_RIP];
  r[REG_RIP] += (code[0] & 0xf0) == 0x40 ? 7 : 6;
}

static char* far_code;

static uint64_t run_far(uint64_t value) { return ((uint64_t (*)(uint64_t))far_code)(value); }

static void far_from_all(void) {
  char* area =
      mmap(0, 8 * kGigabyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  far_code = area + 4 * kGigabyte;
  mprotect(far_code, kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
  memcpy(far_code, far_begin, far_end - far_begin);
  uint64_t value = 3;
  for (int i = 0; i < 100; ++i) value = run_far(value) * 7 + i;
  printf("far %016lx\n", (unsigned long)value);
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, 0);
  ((void (*)(void))(far_code + (far_fault - far_begin)))();
}

static uint8_t* area;

// --- threads, processes and signals

static volatile sig_atomic_t ticks;
static void on_tick(int number) { ++ticks; }

static char* stacks;
static void* worker(void* number) {
  uint64_t value = (uintptr_t)number;
  for (int i = 0; i < 20000; ++i) value = value * 6364136223846793005 + 1442695040888963407;
  return (void*)(uintptr_t)value;
}

static void all(const char* when) {
  printf("%s: code %08x, far %016lx\n", when,
         run_area(area, 1, 1) ^ run_area(area, 2, 2) ^ run_area(area, 3, 3),
         (unsigned long)run_far(5));
  for (uintptr_t i = 0; i < kThreads; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks + i * kStack, kStack);
    pthread_t thread;
    void* result = 0;
    const int made = pthread_create(&thread, &attributes, worker, (void*)(i + 1));
    if (made == 0) pthread_join(thread, &result);
    printf("thread: %d, %016lx\n", made, (unsigned long)result);
  }
  const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  ticks = 0;
  setitimer(ITIMER_REAL, &often, 0);
  uint32_t value = 1;
  while (ticks < 3) value = run_area(area, 4, 1);
  setitimer(ITIMER_REAL, &never, 0);
  printf("under signals %08x\n", value);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("child %08x\n", run_area(area, 7, 7));
    fflush(stdout);
    _exit(run_far(9) & 63);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  printf("forked: %d, status %x\n", child > 0, status);
}

// Every place that is free, the largest first.
static void fill(void) {
  for (size_t bytes = (size_t)1 << 46; bytes >= kPage;) {
    if (mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
      bytes /= 2;
  }
}

int main(void) {
  area = mmap(0, kArea, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stacks = mmap(0, kThreads * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  free(malloc(64 << 10));
  far_from_all();
  all("before");
  if (fork() == 0) {
    fill();
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_DATA, &none);
    setrlimit(RLIMIT_AS, &none);
    printf("full: %d\n",
           mmap(0, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    all("full");
    _exit(0);
  }
  wait(0);
  char* many = mmap(0, kGigabyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (char* at = many; at < many + kGigabyte; at += 2 * kPage) {
    if (mprotect(at, kPage, PROT_NONE) != 0) break;
  }
  all("many mappings");
  return 0;
}
