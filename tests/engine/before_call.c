// before_call ENGINE_RUN ENGINE CHECK_ADDRESS: a signal comes when a system call that blocks has
// been looked at by the engine (glue_syscall_check) but not made. Its handler has to run first: if
// the call were made, nobody would wake it.
//
// By itself, `before_call pause|read` is the program: it waits in a loop until it is told to make
// the call.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSteps = 3 };  // CMP, JNE, SYSCALL

static volatile long go, waits;
static sigjmp_buf out;
static int ends[2];

static void jump_out(int number) { siglongjmp(out, number); }
static void fill(int number) {
  (void)number;
  if (write(ends[1], "x", 1) != 1) _exit(3);
}

static int program(const char* call) {
  const int pauses = strcmp(call, "pause") == 0;
  struct sigaction action = {.sa_handler = pauses ? jump_out : fill};
  sigaction(SIGUSR1, &action, NULL);
  if (pipe(ends) != 0) return 3;
  printf("%d %p %p\n", getpid(), (void*)&go, (void*)&waits);
  fflush(stdout);
  if (sigsetjmp(out, 1) != 0) return 42;
  waits = 1;
  while (go == 0) {
  }
  char byte = 0;
  if (pauses) return (int)syscall(SYS_pause) + 4;
  return syscall(SYS_read, ends[0], &byte, 1) == 1 && byte == 'x' ? 42 : 5;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static long peek(pid_t pid, uint64_t at) { return ptrace(PTRACE_PEEKDATA, pid, at, NULL); }
static void poke(pid_t pid, uint64_t at, long word) {
  if (ptrace(PTRACE_POKEDATA, pid, at, word) != 0) fail("poke");
}
static void wait_for_stop(pid_t pid, int by) {
  int status = 0;
  if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != by) {
    fprintf(stderr, "status %x, not stopped by signal %d\n", status, by);
    exit(1);
  }
}

// Stops the program at `check`, `steps` instructions further on.
static void stop_at(pid_t pid, uint64_t check, int steps, uint64_t go_at) {
  const long word = peek(pid, check);
  poke(pid, check, (word & ~0xffL) | 0xcc);  // INT3
  poke(pid, go_at, 1);
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  wait_for_stop(pid, SIGTRAP);
  poke(pid, check, word);
  struct user_regs_struct registers;
  ptrace(PTRACE_GETREGS, pid, NULL, &registers);
  if (registers.rip != check + 1) fail("the breakpoint is another one");
  registers.rip = check;
  ptrace(PTRACE_SETREGS, pid, NULL, &registers);
  for (int i = 0; i < steps; ++i) {
    ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
    wait_for_stop(pid, SIGTRAP);
  }
}

static void try_at(char** argv, const char* call, int steps) {
  int from[2];
  if (pipe(from) != 0) fail("pipe");
  const pid_t runner = fork();
  if (runner == 0) {
    dup2(from[1], 1);
    execl(argv[1], argv[1], argv[2], "--", argv[0], call, (char*)NULL);
    _exit(70);
  }
  close(from[1]);
  FILE* const said = fdopen(from[0], "r");
  int pid = 0;
  void *go_at = NULL, *waits_at = NULL;
  if (fscanf(said, "%d %p %p", &pid, &go_at, &waits_at) != 3) fail("the program has not begun");
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) fail("ptrace");
  do {
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    int status = 0;
    waitpid(pid, &status, __WALL);
    if (peek(pid, (uint64_t)waits_at) != 0) break;
    ptrace(PTRACE_CONT, pid, NULL, NULL);
  } while (1);
  stop_at(pid, strtoull(argv[3], NULL, 16), steps, (uint64_t)go_at);
  syscall(SYS_tgkill, pid, pid, SIGUSR1);
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  wait_for_stop(pid, SIGUSR1);
  ptrace(PTRACE_DETACH, pid, NULL, SIGUSR1);
  int status = 0;
  for (int tries = 0; waitpid(runner, &status, WNOHANG) == 0; ++tries) {
    if (tries == 1000) {
      kill(pid, SIGKILL);
      fprintf(stderr, "%s, %d instructions behind the check: the call was made\n", call, steps);
      exit(1);
    }
    usleep(10000);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 42) {
    fprintf(stderr, "%s, %d instructions behind the check: status %x\n", call, steps, status);
    exit(1);
  }
  fclose(said);
}

int main(int argc, char** argv) {
  if (argc == 2) return program(argv[1]);
  if (argc != 4) return 2;
  for (int steps = 0; steps < kSteps; ++steps) {
    try_at(argv, "pause", steps);
    try_at(argv, "read", steps);
  }
  puts("as natively");
  return 0;
}
