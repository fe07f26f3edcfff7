// Sends each signal that is named by its number to its whole process group, has a handler for it,
// and says how often that ran. With "child" in front a child of its own sends them.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void handler(int signal) {
  (void)signal;
  came++;
}

int main(int argc, char** argv) {
  int by_child = argc > 1 && strcmp(argv[1], "child") == 0;
  for (int i = 1 + by_child; i < argc; i++) {
    int number = atoi(argv[i]);
    signal(number, handler);
    came = 0;
    pid_t child = by_child ? fork() : -1;
    if (child <= 0) kill(0, number);
    if (child == 0) _exit(0);
    // It stays a zombie, so that /proc can still tell whose child it was.
    siginfo_t info;
    while (child > 0 && waitid(P_PID, child, &info, WEXITED | WNOWAIT) != 0) {
    }
    printf("%d %d\n", number, (int)came);
    fflush(stdout);
  }
  return 0;
}
