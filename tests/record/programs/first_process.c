// The first process of a namespace of processes: signals that it has no handler for are not sent to
// it, whoever of the namespace does so; what it raises itself ends it, and its children die as
// ever.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPatience = 20 };
static volatile int handled;
static volatile pid_t first;

static void say(const char* text) {
  puts(text);
  fflush(stdout);
}
static void handle(int number) { handled += number; }
static void* send_all(void* unused) {
  static const int kSent[] = {SIGTERM, SIGUSR1, SIGQUIT, SIGSEGV, SIGTRAP, SIGKILL};
  for (unsigned i = 0; i < sizeof kSent / sizeof *kSent; ++i) {
    kill(getpid(), kSent[i]);
    syscall(SYS_tgkill, getpid(), gettid(), kSent[i]);
  }
  return unused;
}

static void gets_signals(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, send_all, NULL);
  pthread_join(thread, NULL);
  say("lives");
}
static void is_sent_signals_by_a_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    kill(getppid(), SIGTERM);
    kill(getppid(), SIGSEGV);
    kill(getpid(), SIGTERM);
    _exit(1);
  }
  waitpid(child, &status, 0);
  printf("lives, child: %x\n", status);
  fflush(stdout);
}
static void handles_one(void) {
  signal(SIGTERM, handle);
  kill(getpid(), SIGTERM);
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
  printf("lives, handled: %d\n", handled);
  fflush(stdout);
}
static void aborts(void) { abort(); }
static void reads_nothing(void) { *(volatile int*)0; }
static void executes(void) {
  execl("/bin/sh", "sh", "-c", "kill -TERM $$; echo lives, too; exit 3", NULL);
}

static void give_up(int number) { kill(first, SIGKILL); }

static pid_t begin(void) {
  struct clone_args how = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
  const pid_t made = syscall(SYS_clone3, &how, sizeof how);
  if (made >= 0) return made;
  how.flags |= CLONE_NEWUSER;
  return syscall(SYS_clone3, &how, sizeof how);
}

int main(void) {
  void (*const cases[])(void) = {
      gets_signals, is_sent_signals_by_a_child, handles_one, aborts, reads_nothing, executes};
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGALRM, give_up);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
    first = begin();
    if (first == 0) {
      cases[i]();
      _exit(0);
    }
    int status = 0;
    alarm(kPatience);
    waitpid(first, &status, 0);
    alarm(0);
    printf("%u: %x\n", i, first < 0 ? -1 : status);
    fflush(stdout);
  }
  return 0;
}
