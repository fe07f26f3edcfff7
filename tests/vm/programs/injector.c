// TEST FIXTURE, harmless: puts a library into another process as a debugger would, inside the
// test's own virtual machine. injector PID OFFSET LIBRARY: stops the process, has it call dlopen,
// which lies OFFSET bytes into its libc.so.6, and lets it go on where it was.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>

static void check(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static unsigned long libc_base(pid_t pid) {
  char path[64];
  char line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE* maps = fopen(path, "r");
  check(maps != NULL, path);
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "/libc.so.6") != NULL) return strtoul(line, NULL, 16);
  }
  fprintf(stderr, "the process has no libc\n");
  exit(1);
}

static void put(pid_t pid, unsigned long address, const char* bytes, size_t size) {
  for (size_t done = 0; done < size; done += sizeof(long)) {
    long word = 0;
    memcpy(&word, bytes + done, size - done < sizeof word ? size - done : sizeof word);
    check(ptrace(PTRACE_POKEDATA, pid, address + done, word) == 0, "PTRACE_POKEDATA");
  }
}

static int stopped_by(pid_t pid) {
  int status = 0;
  check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "waitpid");
  return WSTOPSIG(status);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const pid_t pid = atoi(argv[1]);
  check(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0, "PTRACE_ATTACH");
  stopped_by(pid);
  struct user_regs_struct before;
  check(ptrace(PTRACE_GETREGS, pid, 0, &before) == 0, "PTRACE_GETREGS");

  struct user_regs_struct call = before;
  const unsigned long name = (before.rsp - 1024) & ~15UL;  // below the red zone
  const unsigned long nowhere = 0;
  call.rip = libc_base(pid) + strtoul(argv[2], NULL, 16);
  call.rdi = name;
  call.rsi = 2;  // RTLD_NOW
  call.rsp = name - sizeof nowhere;
  call.orig_rax = -1UL;  // no system call to be restarted
  put(pid, name, argv[3], strlen(argv[3]) + 1);
  put(pid, call.rsp, (const char*)&nowhere, sizeof nowhere);
  check(ptrace(PTRACE_SETREGS, pid, 0, &call) == 0, "PTRACE_SETREGS");
  check(ptrace(PTRACE_CONT, pid, 0, 0) == 0, "PTRACE_CONT");

  // dlopen returns to address 0, where nothing is: the process stops once more.
  if (stopped_by(pid) != SIGSEGV) return 3;
  check(ptrace(PTRACE_GETREGS, pid, 0, &call) == 0, "PTRACE_GETREGS");
  const int loaded = call.rip == 0 && call.rax != 0;
  check(ptrace(PTRACE_SETREGS, pid, 0, &before) == 0, "PTRACE_SETREGS");
  check(ptrace(PTRACE_DETACH, pid, 0, 0) == 0, "PTRACE_DETACH");
  puts(loaded ? "injected" : "not loaded");
  return loaded ? 0 : 4;
}
