// Kills children as they begin to run another program: where somebody holds them with ptrace,
// there. Each is to be waited for as ever.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kChildren = 100, kLooks = 3000, kMoments = 25 };

static char state_of(pid_t pid) {
  char path[64], text[256];
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  const int file = open(path, O_RDONLY);
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  if (got <= 0) return '?';
  text[got] = 0;
  const char* name_end = strrchr(text, ')');
  return name_end != NULL ? name_end[2] : '?';
}

int main(void) {
  unsigned killed = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sleep", "sleep", "100", (char*)NULL);
      _exit(1);
    }
    for (int n = 0; n < kLooks && state_of(child) != 't'; ++n) {
    }
    for (int n = i % kMoments; n > 0; --n) getppid();
    kill(child, SIGKILL);
    alarm(20);
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) ++killed;
    alarm(0);
  }
  printf("%u of %u killed\n", killed, kChildren);
  return 0;
}
