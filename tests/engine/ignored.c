// Signals that instructions raise, sent while a program ignores them: none of its system calls ends
// by one. And one that it has a handler for ends a call also while another one waits that it
// blocks. Prints what each call returned.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static uint32_t* word;

// A child that sends the signal again and again, and then lets its parent's call end.
static pid_t begin_sender(int number) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (int i = 0; i < 20; ++i) {
    usleep(1000);
    kill(getppid(), number);
  }
  write(ends[1], "x", 1);
  *word = 1;
  syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
  kill(getppid(), SIGUSR1);
  _exit(0);
}

static int wait_by(int way) {
  struct pollfd readable = {ends[0], POLLIN, 0};
  struct epoll_event event = {.events = EPOLLIN};
  const struct timespec time = {0, 30000000};
  fd_set set;
  sigset_t others;
  switch (way) {
    case 0:
      return poll(&readable, 1, -1);
    case 1:
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      return select(ends[0] + 1, &set, NULL, NULL, NULL);
    case 2: {
      const int queue = epoll_create1(0);
      epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], &event);
      const int result = epoll_wait(queue, &event, 1, -1);
      close(queue);
      return result;
    }
    case 3:
      return syscall(SYS_futex, word, FUTEX_WAIT, 0, 0, 0, 0) == -1 && errno == EINTR;
    case 4:
      return nanosleep(&time, NULL);
    case 5:
      sigemptyset(&others);
      sigaddset(&others, SIGUSR1);
      return sigtimedwait(&others, NULL, NULL);
    default:
      sigemptyset(&others);
      sigsuspend(&others);
      return 0;
  }
}

static volatile sig_atomic_t came = 0;
static void note(int number) { came = number; }

static void ends_a_call_still(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTRAP);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  signal(SIGTRAP, note);
  raise(SIGTRAP);
  signal(SIGBUS, note);
  const pid_t child = fork();
  for (; child == 0; usleep(1000)) kill(getppid(), SIGBUS);
  const int result = poll(NULL, 0, 20000);
  printf("with a handler: %d %d by %d\n", result, errno == EINTR, came);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

int main(void) {
  alarm(60);
  pipe(ends);
  word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  signal(SIGUSR1, note);
  static const int kNumbers[] = {SIGTRAP, SIGSEGV, SIGFPE};
  for (unsigned i = 0; i < sizeof kNumbers / sizeof *kNumbers; ++i) {
    signal(kNumbers[i], SIG_IGN);
    for (int way = 0; way < 7; ++way) {
      *word = 0;
      came = 0;
      const pid_t child = begin_sender(kNumbers[i]);
      const int result = wait_by(way);
      while (waitpid(child, NULL, 0) != child) printf("waitpid ended\n");
      char byte;
      read(ends[0], &byte, 1);
      const struct timespec now = {0, 0};
      sigtimedwait(&blocked, NULL, &now);
      printf("signal %d, way %d: %d %d\n", kNumbers[i], way, result, came);
    }
  }
  ends_a_call_still();
  return 0;
}
