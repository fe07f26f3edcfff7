// Many short-lived tasks: `tasks threads N` or `tasks forks N`, at most 16 at a time.
#include <pthread.h>
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

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = atoi(argv[2]);
  return strcmp(argv[1], "threads") == 0 ? threads(count) : forks(count);
}
