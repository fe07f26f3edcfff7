// Programs that forbid themselves system calls: what is forbidden fails as natively, also by a
// handler that answers in the kernel's place, and code made or mapped after that runs all the same.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ANSWER(call, action) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, (action))

static int install(struct sock_filter* code, unsigned short length) {
  struct sock_fprog program = {length, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

// What may be opened, or be asked by a socket, is over.
static int forbid(unsigned action) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ANSWER(SYS_openat, action),
      ANSWER(SYS_open, action),
      ANSWER(SYS_socket, action),
      ANSWER(SYS_connect, action),
      ANSWER(SYS_getppid, SECCOMP_RET_TRAP),
      ANSWER(SYS_getpgid, SECCOMP_RET_ERRNO | ENOTTY),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(code, sizeof(code) / sizeof(code[0]));
}

static volatile int trapped;

// Answers what it is asked instead of the kernel.
static void on_sys(int number, siginfo_t* info, void* context) {
  ucontext_t* const uc = context;
  const int own = (char*)info->si_call_addr == (char*)uc->uc_mcontext.gregs[REG_RIP];
  trapped += number == SIGSYS && own && info->si_arch == AUDIT_ARCH_X86_64;
  uc->uc_mcontext.gregs[REG_RAX] = info->si_syscall == SYS_getppid ? 4711 : -EPERM;
}

typedef int (*Function)(void);

// Returns `value`.
static Function make(char* at, int value) {
  at[0] = (char)0xb8;
  memcpy(at + 1, &value, sizeof(value));
  at[5] = (char)0xc3;
  return (Function)at;
}

static int made_code(void) {
  int sum = 0;
  for (int i = 0; i < 50; ++i) {
    char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const Function function = make(page + 4000, i);
    mprotect(page, 8192, PROT_READ | PROT_EXEC);
    sum += function();
    char* const moved = mremap(page, 8192, 16384, MREMAP_MAYMOVE);
    sum += ((Function)(moved + 4000))();
    mprotect(moved, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    make(moved + 4000, 1000);
    sum += function == (Function)(moved + 4000) ? function() : ((Function)(moved + 4000))();
    munmap(moved, i % 2 != 0 ? 4096 : 16384);
  }
  return sum;
}

static void* in_thread(void* unused) {
  printf("thread: %d\n", made_code());
  return unused;
}

static void rest(void) {
  errno = 0;
  const int opened = open("/dev/null", O_RDONLY);
  printf("open %d %d\n", opened, errno);
  errno = 0;
  const int group = (int)getpgid(0);
  printf("getpgid %d %d\n", group, errno);
  printf("getppid %d\n", (int)syscall(SYS_getppid));
  printf("made %d\n", made_code());
  pthread_t thread;
  if (pthread_create(&thread, NULL, in_thread, NULL) != 0) printf("no thread\n");
  pthread_join(thread, NULL);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("child %d\n", made_code());
    fflush(stdout);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child's end %d, trapped %d\n", status, trapped);
  fflush(stdout);
}

int main(void) {
  struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &act, NULL);
  for (int trap = 0; trap < 2; ++trap) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (forbid(trap != 0 ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EACCES) != 0) return 1;
      rest();
      return 0;
    }
    waitpid(child, NULL, 0);
  }
  // Killed by the filter, the whole process.
  if (fork() == 0) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ANSWER(SYS_getppid, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (install(code, 4) != 0) return 1;
    syscall(SYS_getppid);
    return 0;
  }
  int status = 0;
  wait(&status);
  printf("killed %d\n", status);
  fflush(stdout);
  // Killed by whatever it does not need.
  if (fork() == 0) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ANSWER(SYS_write, SECCOMP_RET_ALLOW),
        ANSWER(SYS_exit_group, SECCOMP_RET_ALLOW),
        ANSWER(SYS_rt_sigprocmask, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    if (install(code, 8) != 0) return 1;
    sigset_t none;
    sigemptyset(&none);
    const int refused = sigprocmask(SIG_BLOCK, &none, NULL) != 0 && errno == ENOTTY;
    for (char letter = 'a'; letter < 'e'; ++letter) write(1, &letter, 1);
    write(1, refused ? " refused\n" : " allowed\n", 9);
    syscall(SYS_exit_group, 3);
  }
  wait(&status);
  printf("ended %d\n", status);
  fflush(stdout);
  // Killed for its last call.
  if (fork() == 0) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ANSWER(SYS_exit_group, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (install(code, 4) != 0) return 1;
    _exit(5);
  }
  wait(&status);
  printf("killed as it ended %d\n", status);
  return 0;
}
