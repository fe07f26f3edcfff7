// System calls that write to pages on which code ran, where the kernel tells nobody that it could
// not, or has done its work by then; and some that are refused for pages of the program's own, and
// are done only once nevertheless.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kBehind = 64 };

// With `bytes` behind code that has run.
static void* beside_code(const void* from, size_t bytes) {
  unsigned char* page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, "\xb8\x01\x00\x00\x00\xc3", 6);  // mov eax, 1; ret
  memcpy(page + kBehind, from, bytes);
  if (((int (*)(void))page)() != 1) abort();
  return page + kBehind;
}

// With room for it beside code that has run.
static void* place(size_t bytes) {
  static char nothing[kPage];
  return beside_code(nothing, bytes);
}

static void* refused(void) {
  return mmap(NULL, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void time_left(void) {
  struct timeval wait = {0, 1000};
  struct timespec also = {0, 1000000};
  struct timeval* of_select = beside_code(&wait, sizeof wait);
  int result = (int)syscall(SYS_select, 0, NULL, NULL, NULL, of_select);
  printf("select %d, left %ld %ld\n", result, of_select->tv_sec, of_select->tv_usec);
  struct timespec* left = beside_code(&also, sizeof also);
  result = (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, left, NULL);
  printf("pselect6 %d, left %ld %ld\n", result, left->tv_sec, left->tv_nsec);
  left = beside_code(&also, sizeof also);
  result = (int)syscall(SYS_ppoll, NULL, 0, left, NULL, 8);
  printf("ppoll %d, left %ld %ld\n", result, left->tv_sec, left->tv_nsec);
}

static void messages(void) {
  int ends[2];
  socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends);
  char text = 'x';
  struct iovec parts = {&text, 1};
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &parts, .msg_iovlen = 1}};
  struct mmsghdr* sent = beside_code(&message, sizeof message);
  int result = sendmmsg(ends[0], sent, 1, 0);
  printf("sendmmsg %d, of %u bytes\n", result, sent->msg_len);
  int count = 0;
  while (recv(ends[1], &text, 1, 0) == 1) ++count;
  printf("received %d\n", count);
  send(ends[0], "y", 1, 0);
  struct timespec wait = {5, 0};
  struct timespec* left = beside_code(&wait, sizeof wait);
  result = recvmmsg(ends[1], &message, 1, 0, left);
  printf("recvmmsg %d, waited %d\n", result, left->tv_sec != 5);
}

static void refused_once(void) {
  void* guarded = place(1);
  pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  int result = (int)syscall(SYS_wait4, child, refused(), 0, NULL);
  printf("wait4 %d %d", result, errno);
  result = waitpid(child, NULL, 0);
  printf(", again %d %d\n", result, errno);
  int ends[2];
  socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends);
  send(ends[0], "x", 1, 0);
  ((int (*)(void))((char*)guarded - kBehind))();
  result = (int)recv(ends[1], refused(), 1, 0);
  printf("recv %d %d\n", result, errno);
}

static void handlers(void) {
  const char* refuses = refused();
  long result = syscall(SYS_rt_sigaction, 0, refuses, NULL, 8);
  printf("rt_sigaction %ld %d", result, errno);
  result = syscall(SYS_rt_sigaction, SIGKILL, refuses, NULL, 8);
  printf(", %ld %d", result, errno);
  result = syscall(SYS_rt_sigaction, 65, NULL, NULL, 8);
  printf(", %ld %d\n", result, errno);
}

int main(void) {
  time_left();
  messages();
  refused_once();
  handlers();
  return 0;
}
