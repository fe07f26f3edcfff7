// Has a child in its own memory that is no thread of it: until it is asked to end, or `moment`, for
// half a second.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int child(void* moment) {
  const struct timespec half = {.tv_nsec = 500000000};
  if (moment == NULL) pause();
  nanosleep(&half, NULL);
  return 0;
}

int main(int argc, char** argv) {
  static char stack[64 << 10] __attribute__((aligned(16)));
  void* const moment = argc > 1 && strcmp(argv[1], "moment") == 0 ? stack : NULL;
  const pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, moment);
  if (pid < 0) return 1;
  puts("ready");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof line, stdin) == NULL) puts("no word of the end");
  if (moment == NULL) kill(pid, SIGKILL);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return 1;
  puts((moment == NULL ? WIFSIGNALED(status) : status == 0) ? "all as ever"
                                                            : "the child ended otherwise");
  return 3;
}
