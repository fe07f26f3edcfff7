// Other programs started in every way: vfork + exec, posix_spawn, system and popen.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int reap(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_vfork(void) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(127);
  }
  return reap(pid);
}

static int by_vfork_of_nothing(void) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/nonexistent", "nonexistent", (char*)NULL);
    _exit(9);
  }
  return reap(pid);
}

static int by_posix_spawn(void) {
  char* arguments[] = {"false", NULL};
  pid_t pid = 0;
  if (posix_spawn(&pid, "/bin/false", NULL, NULL, arguments, environ) != 0) return -1;
  return reap(pid);
}

static int by_popen(void) {
  FILE* pipe = popen("echo 42", "r");
  int number = 0;
  if (pipe == NULL || fscanf(pipe, "%d", &number) != 1) return -1;
  pclose(pipe);
  return number;
}

int main(void) {
  const int vforked = by_vfork();
  const int missing = by_vfork_of_nothing();
  const int spawned = by_posix_spawn();
  const int system_status = WEXITSTATUS(system("exit 3"));
  printf("%d %d %d %d %d\n", vforked, missing, spawned, system_status, by_popen());
  return 0;
}
