// Has all descriptors in use that it may have, then all but one, and starts a thread, a process and
// one that shares its table, each of which finds the table as natively; and code that is made.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int free_ones;

// How many descriptors it can have.
static int count_free(void) {
  int got[8], count = 0;
  while (count < 8 && (got[count] = dup(0)) >= 0) ++count;
  for (int i = 0; i < count; ++i) close(got[i]);
  return count;
}

static void* in_thread(void* unused) { return count_free() == free_ones ? unused : NULL; }

static int in_process(void* unused) { return count_free() == free_ones ? 7 : 8; }

static char* code;
static int run_code(int value) {
  memcpy(code, "\xb8\0\0\0\0\xc3", 6);  // MOV EAX, value; RET
  code[1] = (char)value;
  return ((int (*)(void))code)();
}

static void all(void) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, in_thread, &free_ones) == 0) pthread_join(thread, &result);
  int forked = 0, shared = 0;
  const pid_t child = fork();
  if (child == 0) _exit(run_code(9) == 9 ? in_process(NULL) : 6);
  waitpid(child, &forked, 0);
  static char stack[64 << 10];
  const pid_t other =
      clone(in_process, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
  waitpid(other, &shared, 0);
  printf("%d free: thread %d, fork %x, clone %x, code %d, free %d\n", free_ones, result != NULL,
         forked, shared, run_code(5 + free_ones), count_free());
}

int main(void) {
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int last = 0;
  for (int fd = 0; (fd = dup(0)) >= 0;) last = fd;
  all();
  close(last);
  free_ones = 1;
  all();
  return 0;
}
