// Children by fork that work and end differently, one of them a grandchild.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int n) {
  volatile int sum = 0;
  for (int i = 0; i < 1000 * n; ++i) sum += i % (n + 1);
  return sum % 100;
}

int main(void) {
  int statuses = 0;
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
      if (child == 2) {
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(work(2));
        waitpid(grandchild, NULL, 0);
      }
      _exit(work(child + 1) % 2 + child);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    statuses += WEXITSTATUS(status);
  }
  printf("statuses %d, own %d\n", statuses, work(4));
  return 0;
}
