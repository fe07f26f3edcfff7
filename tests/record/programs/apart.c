// Goes to a network namespace of its own, and starts a thread, a process and a program there.
// Before, it closes all descriptors that it has not opened ("closes"), all at once ("closes-all"),
// or puts a socket of its own in their place ("covers"), and prints what comes there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kNoNamespace = 77, kMostDescriptors = 1024 };

static void* run(void* argument) { return argument; }

static void start_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
}

static void start_process(char* const program[]) {
  const pid_t child = fork();
  if (child == 0) {
    if (program != NULL) execv(program[0], program);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static void cover(const int ends[2], const char* how) {
  for (int fd = 3; fd < kMostDescriptors; ++fd) {
    if (fd == ends[0] || fd == ends[1] || fcntl(fd, F_GETFD) < 0) continue;
    if (strcmp(how, "closes") == 0) close(fd);
    if (strcmp(how, "covers") == 0) dup2(ends[1], fd);
  }
  if (strcmp(how, "closes-all") == 0) close_range(ends[1] + 1, ~0U, 0);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "leaf") == 0) return 0;
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return kNoNamespace;
  }
  int ends[2];
  socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends);
  cover(ends, argv[1]);
  start_thread();
  start_process(NULL);
  char* const leaf[] = {argv[0], "leaf", NULL};
  start_process(leaf);
  char byte;
  printf("%zd\n", recv(ends[0], &byte, 1, 0));
  return 0;
}
