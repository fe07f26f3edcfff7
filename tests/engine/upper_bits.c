// System calls with more in the registers than the kernel looks at: it takes the number and what is
// declared int as 32 bits. Each runs in a child of its own; prints what came of it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MORE 0x1234567800000000ul

// Inline: a child of vfork does not return from a function.
static inline __attribute__((always_inline)) long call(unsigned long number, unsigned long a,
                                                       unsigned long b, unsigned long c,
                                                       unsigned long d) {
  register unsigned long r10 __asm__("r10") = d;
  register unsigned long r8 __asm__("r8") = MORE | 0xffffffff;
  register unsigned long r9 __asm__("r9") = 0;
  unsigned long rdi = a, rsi = b, rdx = c;
  __asm__ volatile("syscall"
                   : "+a"(number), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10)
                   : "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (rdi != a || rsi != b || rdx != c || r10 != d) puts("an argument has changed");
  return (long)number;
}

static volatile int came;
static void handler(int signal) { came++; }

static void take_usr1(unsigned long number, unsigned long signal_number) {
  struct sigaction unused = {.sa_handler = handler};
  sigaction(SIGUSR2, &unused, NULL);
  unsigned long action[4];  // the kernel's: handler, flags, restorer, mask
  call(SYS_rt_sigaction, SIGUSR2, 0, (unsigned long)action, 8);
  printf("%ld ", call(number, signal_number, (unsigned long)action, 0, 8));
  raise(SIGUSR1);
  printf("came %d\n", came);
}

static void block(unsigned long number, unsigned long how) {
  unsigned long mask = 1ul << (SIGSEGV - 1) | 1ul << (SIGUSR1 - 1), now = 0;
  printf("%ld ", call(number, how, (unsigned long)&mask, 0, 8));
  call(SYS_rt_sigprocmask, 0, 0, (unsigned long)&now, 8);
  printf("%lx\n", now);
}

static void tell_child(long pid) {
  int status = 0;
  waitpid((pid_t)pid, &status, 0);
  printf("child %x\n", status);
}

static void number_of_exit_group(void) { call(MORE | SYS_exit_group, MORE | 7, 0, 0, 0); }
static void number_of_exit(void) { call(MORE | SYS_exit, MORE | 8, 0, 0, 0); }
static void number_of_fork(void) {
  long pid = call(MORE | SYS_fork, 0, 0, 0, 0);
  if (pid == 0) _exit(3);
  tell_child(pid);
}
static void number_of_vfork(void) {
  long pid = call(MORE | SYS_vfork, 0, 0, 0, 0);
  if (pid == 0) call(SYS_exit_group, 5, 0, 0, 0);
  tell_child(pid);
}
static void flags_of_clone(void) {
  long pid = call(SYS_clone, MORE | SIGCHLD, 0, 0, 0);
  if (pid == 0) _exit(4);
  tell_child(pid);
}
static void number_of_execve(void) {
  char* words[] = {"/bin/echo", "executed", NULL};
  call(MORE | SYS_execve, (unsigned long)words[0], (unsigned long)words, (unsigned long)environ, 0);
}
static void number_of_sigaction(void) { take_usr1(MORE | SYS_rt_sigaction, SIGUSR1); }
static void signal_of_sigaction(void) { take_usr1(SYS_rt_sigaction, MORE | SIGUSR1); }
static void number_of_sigprocmask(void) { block(MORE | SYS_rt_sigprocmask, SIG_BLOCK); }
static void how_of_sigprocmask(void) { block(SYS_rt_sigprocmask, MORE | SIG_BLOCK); }
static void number_of_sigaltstack(void) {
  stack_t wanted = {malloc(65536), 0, 65536}, now;
  printf("%ld ", call(MORE | SYS_sigaltstack, (unsigned long)&wanted, 0, 0, 0));
  sigaltstack(NULL, &now);
  printf("%d\n", now.ss_sp == wanted.ss_sp);
}
static void mappings_of_code(void) {
  unsigned char* code =
      (unsigned char*)call(MORE | SYS_mmap, 0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS);
  memcpy(code, "\xb8\x01\0\0\0\xc3", 6);
  printf("%d ", ((int (*)(void))code)());
  printf("%ld ", call(MORE | SYS_mprotect, (unsigned long)code, 4096, 3, 0));
  code[1] = 2;
  printf("%ld ", call(MORE | SYS_mprotect, (unsigned long)code, 4096, 5, 0));
  printf("%d ", ((int (*)(void))code)());
  printf("%ld\n", call(MORE | SYS_munmap, (unsigned long)code, 4096, 0, 0));
}
static void advice_of_madvise(void) {
  unsigned char* code = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, "\xb8\x01\0\0\0\xc3", 6);
  printf("%d ", ((int (*)(void))code)());
  printf("%ld\n", call(SYS_madvise, (unsigned long)code, 4096, MORE | MADV_DONTNEED, 0));
  fflush(stdout);
  printf("%d\n", ((int (*)(void))code)());  // SIGSEGV
}
static void limit(void) {
  struct rlimit wanted = {1ul << 30, 1ul << 30}, now;
  printf("%ld ", call(MORE | SYS_setrlimit, MORE | RLIMIT_AS, (unsigned long)&wanted, 0, 0));
  getrlimit(RLIMIT_AS, &now);
  const int refused = mmap(NULL, 2ul << 30, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
  printf("%lx %d\n", (unsigned long)now.rlim_cur, refused);
}
static void strict_mode(void) {
  call(SYS_prctl, MORE | PR_SET_SECCOMP, 1, 0, 0);
  call(SYS_write, 1, (unsigned long)"strict\n", 7, 0);
  call(SYS_getpid, 0, 0, 0, 0);
  call(SYS_write, 1, (unsigned long)"alive\n", 6, 0);
}
static void descriptors(void) {
  int differ = 0;
  for (int fd = 3; fd < 1000; fd++)
    differ += call(MORE | SYS_dup2, MORE | 1, MORE | fd, 0, 0) != fd;
  printf("%d %ld ", differ, call(SYS_close, MORE | 3, 0, 0, 0));
  printf("%ld\n", call(SYS_close_range, MORE | 3, MORE | 0xffffffff, MORE, 0));
}
static void no_call(void) {
  printf("%ld %ld\n", call(-1ul, 0, 0, 0, 0), call(MORE - 1, 0, 0, 0, 0));
}

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {
#define CASE(name) {#name, name}
    CASE(number_of_exit_group),
    CASE(number_of_exit),
    CASE(number_of_fork),
    CASE(number_of_vfork),
    CASE(flags_of_clone),
    CASE(number_of_execve),
    CASE(number_of_sigaction),
    CASE(signal_of_sigaction),
    CASE(number_of_sigprocmask),
    CASE(how_of_sigprocmask),
    CASE(number_of_sigaltstack),
    CASE(mappings_of_code),
    CASE(advice_of_madvise),
    CASE(limit),
    CASE(strict_mode),
    CASE(descriptors),
    CASE(no_call),
};

int main(void) {
  for (unsigned i = 0; i < sizeof kCases / sizeof *kCases; i++) {
    printf("%s: ", kCases[i].name);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
      kCases[i].run();
      fflush(stdout);
      _exit(0);
    }
    tell_child(pid);
  }
  return 0;
}
