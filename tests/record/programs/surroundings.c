// Prints everything that a program can see of how it was started, for comparison with a run that is
// not recorded.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static void print_link(const char* path) {
  char target[4096];
  const ssize_t n = readlink(path, target, sizeof target);
  printf("%s -> %.*s\n", path, n > 0 ? (int)n : 1, n > 0 ? target : "?");
}

static void print_descriptors(void) {
  for (int fd = 0; fd < 256; ++fd) {
    struct stat st;
    if (fstat(fd, &st) == 0) {
      printf("descriptor %d: mode %o, terminal %d\n", fd, st.st_mode & S_IFMT, isatty(fd));
    }
  }
}

static void print_signals(void) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int number = 1; number < 32; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) printf("signal %d is ignored\n", number);
    if (sigismember(&blocked, number)) printf("signal %d is blocked\n", number);
  }
}

int main(int argc, char** argv) {
  char text[4096];
  for (int i = 0; i < argc; ++i) printf("argument %d: [%s]\n", i, argv[i]);
  for (char** variable = environ; *variable != NULL; ++variable) printf("env %s\n", *variable);
  printf("cwd %s\n", getcwd(text, sizeof text));
  print_link("/proc/self/exe");
  memset(text, 0, sizeof text);
  prctl(PR_GET_NAME, text);
  printf("name %s\n", text);
  FILE* cmdline = fopen("/proc/self/cmdline", "r");
  const size_t n = fread(text, 1, sizeof text, cmdline);
  fclose(cmdline);
  for (size_t i = 0; i < n; ++i) putchar(text[i] != 0 ? text[i] : '|');
  puts("");
  print_descriptors();
  print_signals();
  const mode_t mask = umask(0);
  printf("umask %o, nice %d, group leader %d\n", mask, nice(0), getpgrp() == getpid());
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  printf("files %llu\n", (unsigned long long)limit.rlim_cur);
  getrlimit(RLIMIT_STACK, &limit);
  printf("stack %llu\n", (unsigned long long)limit.rlim_cur);
  printf("uid %d %d gid %d %d\n", getuid(), geteuid(), getgid(), getegid());
  while (fgets(text, sizeof text, stdin) != NULL) printf("stdin: %s", text);
  fprintf(stderr, "to stderr\n");
  return 3;
}
