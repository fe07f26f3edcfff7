// Programs started in all ways: which function does it is chosen at run time, as shells do.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int ended(pid_t pid) {
  int status = 1;
  return waitpid(pid, &status, 0) == pid ? status : 1;
}

__attribute__((noinline)) static int spawned(int search, const char* file, char* const argv[]) {
  pid_t pid = 0;
  if ((search ? posix_spawnp : posix_spawn)(&pid, file, NULL, NULL, argv, environ) != 0) return 1;
  return ended(pid);
}

__attribute__((noinline)) static int forked(int search, const char* file, char* const argv[]) {
  const pid_t pid = fork();
  if (pid != 0) return ended(pid);
  (search ? execvp : execv)(file, argv);
  _exit(1);
}

int main(int argc, char** argv) {
  char* const arguments[] = {"true", NULL};
  int failed = 0;
  for (int search = 0; search < 2; ++search) {
    const char* file = search ? "true" : "/bin/true";
    failed += spawned(search, file, arguments) != 0;
    failed += forked(search, file, arguments) != 0;
  }
  FILE* pipe = popen("true", "r");
  failed += pipe == NULL || pclose(pipe) != 0;
  failed += system("true") != 0;
  printf("%d\n", failed);
  return failed;
}
