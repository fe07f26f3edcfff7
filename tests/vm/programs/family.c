// A program that starts others in every way: a thread, a forked child, and a child that shares its
// address space (vfork) until it runs another program, ARGV[1] with ARGV[2]. Waits for all of them.
// No C library: nothing runs but what stands here.
#include "system_call.h"

#define CLONE_VM 0x100
#define CLONE_FS 0x200
#define CLONE_FILES 0x400
#define CLONE_SIGHAND 0x800
#define CLONE_VFORK 0x4000
#define CLONE_THREAD 0x10000
#define SIGCHLD 17

static __attribute__((noinline)) void spin(int times) {
  for (volatile int i = 0; i < times; ++i) continue;
}

static void leave(long number, int status) { system_call(number, status, 0, 0, 0); }

static volatile int thread_done;
static long stack[512] __attribute__((aligned(16)));

// Runs on its own stack, which has no return address.
__attribute__((used)) static void thread(void) {
  spin(300);
  thread_done = 1;
  leave(60, 0);  // exit
}

static void start_thread(void) {
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  __asm__ volatile(
      "xor %%r10d, %%r10d\n"
      "xor %%r8d, %%r8d\n"
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "call thread\n"
      "1:\n"
      :
      : "a"(56), "D"(flags), "S"(&stack[510]), "d"(0)
      : "rcx", "r11", "r8", "r10", "memory");
  while (!thread_done) system_call(24, 0, 0, 0, 0);  // sched_yield
}

static void fork_child(void) {
  const long pid = system_call(56, SIGCHLD, 0, 0, 0);
  if (pid == 0) {
    spin(200);
    leave(231, 0);
  }
  system_call(61, pid, 0, 0, 0);  // wait4
}

// The child returns from nothing: it would use up its parent's stack.
static void vfork_exec(char** arguments) {
  const char* const environment[] = {0};
  long pid;
  __asm__ volatile(
      "mov $58, %%eax\n"  // vfork
      "syscall\n"
      "test %%eax, %%eax\n"
      "jnz 1f\n"
      "mov $59, %%eax\n"  // execve
      "mov %1, %%rdi\n"
      "mov %2, %%rsi\n"
      "mov %3, %%rdx\n"
      "syscall\n"
      "mov $60, %%eax\n"
      "mov $1, %%edi\n"
      "syscall\n"
      "1:\n"
      : "=&a"(pid)
      : "r"(arguments[0]), "r"(arguments), "r"(environment)
      : "rdi", "rsi", "rdx", "rcx", "r11", "memory");
  system_call(61, pid, 0, 0, 0);
}

__attribute__((used)) static void start(long* at) {
  start_thread();
  fork_child();
  vfork_exec((char**)(at + 2));
  leave(231, 0);
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call start\n");
