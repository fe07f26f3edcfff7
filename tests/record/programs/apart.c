// Goes to a network namespace of its own, or with "scoped" into a domain of Landlock's that keeps
// it to its own abstract sockets, and starts a thread, a process and a program there. Before, it
// closes all descriptors that it has not opened ("closes"), all at once ("closes-all"), or puts a
// socket of its own in their place ("covers"), and prints what comes there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kNotHere = 77, kMostDescriptors = 1024 };

// Linux 6.12.
static int keep_to_own_sockets(void) {
  const struct {
    uint64_t files, networks, scoped;
  } attributes = {.scoped = 1};  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
  const long rules = syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  const long done = syscall(SYS_landlock_restrict_self, rules, 0);
  close((int)rules);
  return (int)done;
}

static int go_apart(int scoped) {
  if (scoped) return keep_to_own_sockets();
  return unshare(CLONE_NEWNET) != 0 ? unshare(CLONE_NEWUSER | CLONE_NEWNET) : 0;
}

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
  if (go_apart(argc > 2 && strcmp(argv[2], "scoped") == 0) != 0) return kNotHere;
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
