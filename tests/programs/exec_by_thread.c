// Executed again and again by a thread that is not its first, while others run; at last a child
// that asks the vDSO for the time, as its parent has.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int left = 8;

static void* sleeps(void* unused) {
  for (;;) usleep(100);
  return unused;
}

static void* executes(void* unused) {
  char next[16];
  snprintf(next, sizeof next, "%d", left - 1);
  execl("/proc/self/exe", "exec_by_thread", next, (char*)NULL);
  perror("exec");
  exit(1);
  return unused;
}

int main(int argc, char** argv) {
  if (argc > 1) left = atoi(argv[1]);
  printf("left %d\n", left);
  fflush(stdout);
  if (left > 0) {
    pthread_t thread;
    for (int i = 0; i < 3; ++i) pthread_create(&thread, NULL, sleeps, NULL);
    pthread_create(&thread, NULL, executes, NULL);
    for (;;) pause();
  }
  const time_t before = time(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(time(NULL) < before);
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}
