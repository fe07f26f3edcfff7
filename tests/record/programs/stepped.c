// Little enough to be stepped through in a test: no C library, a few hundred instructions. Loops,
// calls through a pointer, a signal to itself, a fault, a child, and itself again with another
// argument. `stepped thread` starts a thread instead, `stepped loop` says "ready" and does not end,
// nor does `stepped deaf`, which does not hear SIGTERM.
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
  return result;
}

static volatile int seen;

static void handler(int signal) { seen += signal; }
__attribute__((naked)) static void restorer(void) {
  asm("mov $15, %eax\n\tsyscall");  // rt_sigreturn
}

struct action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static void catch_signal(int number) {
  struct action action = {handler, 0x04000000, restorer, 0};  // SA_RESTORER
  call(SYS_rt_sigaction, number, (long)&action, 0, 8);
}

static void ignore_signal(int number) {
  struct action action = {SIG_IGN, 0, 0, 0};
  call(SYS_rt_sigaction, number, (long)&action, 0, 8);
}

static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
static int (*volatile const functions[])(int) = {twice, thrice};

static int work(int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += functions[i % 3 == 0](i);
  return sum;
}

static volatile int thread_done;
static char stack[4096] __attribute__((aligned(16)));

static void in_thread(void) {
  work(5);
  thread_done = 1;
  call(SYS_exit, 0, 0, 0, 0);
}

static void start_thread(void) {
  const long flags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  long* top = (long*)(stack + sizeof(stack)) - 2;
  *top = (long)in_thread;
  asm volatile(
      "syscall\n\t"
      "test %%eax, %%eax\n\t"
      "jnz 1f\n\t"
      "pop %%rax\n\t"
      "call *%%rax\n"
      "1:"
      :
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0)
      : "rcx", "r11", "memory");
  while (!thread_done) call(SYS_sched_yield, 0, 0, 0, 0);
}

__attribute__((used)) static void run(long* args) {
  char** argv = (char**)(args + 1);
  if (args[0] > 1 && argv[1][0] == 't') {
    start_thread();
  } else if (args[0] > 1 && (argv[1][0] == 'l' || argv[1][0] == 'd')) {
    if (argv[1][0] == 'd') ignore_signal(SIGTERM);
    work(100);  // there are branches, however slow the machine is
    call(SYS_write, 1, (long)"ready\n", 6, 0);
    for (;;) work(100);
  } else if (args[0] > 1) {
    call(SYS_exit_group, work(4) == 15 ? 5 : 1, 0, 0, 0);
  } else {
    work(10);
    catch_signal(SIGUSR1);
    call(SYS_kill, call(SYS_getpid, 0, 0, 0, 0), SIGUSR1, 0, 0);
    catch_signal(SIGTRAP);
    asm volatile("int3");
    const long child = call(SYS_fork, 0, 0, 0, 0);
    if (child == 0) call(SYS_exit_group, work(3), 0, 0, 0);
    call(SYS_wait4, child, 0, 0, 0);
    char* again[] = {argv[0], "again", NULL};
    char* environment[] = {NULL};
    call(SYS_execve, (long)argv[0], (long)again, (long)environment, 0);
  }
  call(SYS_exit_group, 0, 0, 0, 0);
}

asm(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run\n\thlt");
