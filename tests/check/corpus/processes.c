// Processes by vfork, posix_spawn, clone, fork in a handler and in a child; exec; an exit handler;
// a timer with a thread.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char** environ;
static void bye(void) { puts("bye"); }
static int in_clone(void* what) { return *(int*)what; }
static void forks(int number) {
  if (fork() == 0) _exit(number);
  wait(0);
}
// The kernel's page is called in front of the forks and behind them.
static void forks_twice(void) {
  time(0);
  if (fork() == 0) {
    if (fork() == 0) _exit(time(0) == 0);
    wait(0);
    _exit(0);
  }
  wait(0);
}
static volatile int fired;
static void timer(union sigval value) { fired = value.sival_int; }
int main(int argc, char** argv) {
  if (argc > 1) return 7;
  atexit(bye);
  char* const arguments[] = {argv[0], "x", 0};
  if (vfork() == 0) {
    execv(argv[0], arguments);
    _exit(1);
  }
  int status;
  wait(&status);
  printf("%d\n", WEXITSTATUS(status));
  pid_t pid;
  posix_spawn(&pid, argv[0], 0, 0, arguments, environ);
  waitpid(pid, &status, 0);
  static char stack[1 << 16];
  int code = 3;
  pid = clone(in_clone, stack + sizeof stack, CLONE_VM | SIGCHLD, &code);
  waitpid(pid, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  signal(SIGUSR1, forks);
  raise(SIGUSR1);
  forks_twice();
  struct sigevent event = {
      .sigev_notify = SIGEV_THREAD, .sigev_notify_function = timer, .sigev_value.sival_int = 1};
  timer_t id;
  timer_create(CLOCK_MONOTONIC, &event, &id);
  struct itimerspec when = {.it_value.tv_nsec = 1000000};
  timer_settime(id, 0, &when, 0);
  while (!fired) usleep(1000);
  FILE* pipe = popen("echo from a shell", "r");
  char line[64];
  if (fgets(line, sizeof line, pipe)) fputs(line, stdout);
  pclose(pipe);
  return system("exit 3") >> 8 == 3 ? 0 : 1;
}
