// Makes a child while its own parent, the recorder, is stopped, and looks whether it sleeps though
// it makes no call that does.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char state_of(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const char* name_end = fgets(text, sizeof text, file) == NULL ? NULL : strrchr(text, ')');
  fclose(file);
  return name_end == NULL ? 0 : name_end[2];
}

static long ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void) {
  state_of(getpid());  // runs faster from here on
  kill(getppid(), SIGSTOP);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) {
    }
  }
  int asleep = 0;
  for (const long begin = ms(); ms() - begin < 10;) asleep += state_of(child) == 'S';
  kill(getppid(), SIGCONT);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  printf("%s\n", asleep == 0 ? "awake" : "asleep");
}
