// Threads that are, most of their time, where attaching and letting go meet what the kernel has not
// told them yet, a process that begins, or one that executes a program: `faults`, `spawns` or
// `executes` as the argument, each in two threads. As in attached.c.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_int over, wrong;
static atomic_ulong rounds;

static void check(int right, const char* what, int value) {
  if (right) return;
  if (atomic_exchange(&wrong, 1) == 0) printf("wrong: %s, %#x\n", what, value);
}

static int ended(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static _Thread_local volatile int raised;

static void on_fault(int number, siginfo_t* info, void* context) {
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  raised += number == SIGSEGV  ? info->si_addr == (void*)0x1230
            : number == SIGSYS ? info->si_syscall == SYS_getsid
                               : 1;
  if (number == SIGSEGV) registers[REG_RIP] += 2;
  if (number == SIGSYS) registers[REG_RAX] = 0;
}

static void filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) check(0, "a filter", 0);
}

static void* faults(void* filtered) {
  if (filtered != NULL) filter();
  while (!atomic_load(&over)) {
    const int before = raised;
    if (filtered != NULL) syscall(SYS_getsid, 0);
    __asm__ volatile("movl (%%rax), %%eax" : : "a"(0x1230) : "memory");
    __asm__ volatile("int3");
    check(raised == before + 2 + (filtered != NULL), "faults", raised - before);
    atomic_fetch_add(&rounds, 1);
  }
  return NULL;
}

static void on_signal(int number) { raised += number == SIGUSR1; }

static int in_vfork(void* unused) {
  (void)unused;
  raise(SIGUSR1);
  return 7;
}

static void* spawns(void* unused) {
  static _Thread_local char stack[64 << 10] __attribute__((aligned(16)));
  while (!atomic_load(&over)) {
    const int status =
        ended(clone(in_vfork, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
    check(status == 7 << 8, "a child in vfork", status);
    atomic_fetch_add(&rounds, 1);
  }
  return unused;
}

static void* executes(void* unused) {
  while (!atomic_load(&over)) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "again", "30", (char*)NULL);
      _exit(1);
    }
    const int status = ended(child);
    check(status == 33 << 8, "a program", status);
    atomic_fetch_add(&rounds, 1);
  }
  return unused;
}

static int execute_again(int left) {
  char text[16];
  if (left == 0) return 33;
  snprintf(text, sizeof text, "%d", left - 1);
  execl("/proc/self/exe", "again", text, (char*)NULL);
  return 1;
}

int main(int argc, char** argv) {
  if (strcmp(argv[0], "again") == 0) return execute_again(atoi(argv[1]));
  const char* const name = argc > 1 ? argv[1] : "";
  void* (*const kind)(void*) = strcmp(name, "faults") == 0   ? faults
                               : strcmp(name, "spawns") == 0 ? spawns
                                                             : executes;
  const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  const struct sigaction signaled = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  if (kind == faults) {
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGTRAP, &fault, NULL);
    sigaction(SIGSYS, &fault, NULL);
  }
  sigaction(SIGUSR1, &signaled, NULL);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, kind, (void*)i);
  puts("ready");
  fflush(stdout);
  char text[64];
  ssize_t got = 0;
  while ((got = read(0, text, sizeof text)) > 0) {
    const unsigned long before = atomic_load(&rounds);
    while (atomic_load(&rounds) < before + 3 && !atomic_load(&wrong)) usleep(1000);
    puts("goes on");
    fflush(stdout);
  }
  atomic_store(&over, 1);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  if (!atomic_load(&wrong)) puts("all as ever");
  return 3;
}
