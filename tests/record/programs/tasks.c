// Many short-lived tasks: `tasks threads N` or `tasks forks N`, at most 16 at a time, or `tasks
// shared N`: processes in this one's memory, with descriptors of their own.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* argument) {
  volatile int sum = 0;
  for (int i = 0; i < 10; ++i) sum += i;
  return argument;
}

static int threads(int count) {
  pthread_t running[16];
  for (int done = 0; done < count;) {
    int batch = 0;
    for (; batch < 16 && done + batch < count; ++batch) {
      if (pthread_create(&running[batch], NULL, work, NULL) != 0) return 1;
    }
    for (int i = 0; i < batch; ++i) pthread_join(running[i], NULL);
    done += batch;
  }
  return 0;
}

static int forks(int count) {
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(work(NULL) != NULL);
    if (++running == 16) {
      if (wait(NULL) < 0) return 1;
      --running;
    }
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}

static int in_memory(void* unused) { return work(unused) != NULL; }

static int shared(int count) {
  static char stack[64 << 10] __attribute__((aligned(16)));
  for (int i = 0; i < count; ++i) {
    const pid_t child = clone(in_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
    if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = atoi(argv[2]);
  if (strcmp(argv[1], "shared") == 0) return shared(count);
  return strcmp(argv[1], "threads") == 0 ? threads(count) : forks(count);
}
