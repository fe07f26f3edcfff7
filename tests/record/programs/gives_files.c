// Executes programs in children that have its descriptors, not copies of them, and says how many
// more it has then.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));

static int open_ones(void) {
  int count = 0;
  for (int fd = 0; fd < 64; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static int execute(void* unused) {
  (void)unused;
  execl("/bin/true", "true", NULL);
  _exit(1);
}

int main(void) {
  static const int memory[] = {0, CLONE_VM, CLONE_VM | CLONE_VFORK};
  const int own = open_ones();
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    int status = 1;
    const int child = clone(execute, stack + sizeof stack, memory[i] | CLONE_FILES | SIGCHLD, NULL);
    waitpid(child, &status, 0);
    ended += status == 0;
  }
  printf("%d executed, %d more\n", ended, open_ones() - own);
  return 0;
}
