// Becomes itself again a few times, then another program: one pid, several images.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int left = argc > 1 ? atoi(argv[1]) : 3;
  printf("left %d\n", left);
  fflush(stdout);
  if (left == 0) {
    execl("/bin/echo", "echo", "done", (char*)NULL);
    return 1;
  }
  char next[16];
  snprintf(next, sizeof next, "%d", left - 1);
  execl("/proc/self/exe", argv[0], next, (char*)NULL);
  perror("exec");
  return 1;
}
