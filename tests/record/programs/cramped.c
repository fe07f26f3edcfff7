// Another process takes all address space from it but 4 MB, which nothing can be done about; with
// an argument more than all. Then it starts a thread, on a stack that it has.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void* in_thread(void* unused) { return unused; }

static _Alignas(4096) char stack[64 << 10];

int main(int count, char** words) {
  (void)words;
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) return 1;
  fclose(file);
  const struct rlimit limit = {count > 1 ? 4096 : pages * 4096 + (4 << 20), RLIM_INFINITY};
  const pid_t other = fork();
  if (other == 0) _exit(prlimit(getppid(), RLIMIT_AS, &limit, NULL));
  waitpid(other, NULL, 0);
  pthread_attr_t own;
  pthread_attr_init(&own);
  pthread_attr_setstack(&own, stack, sizeof stack);
  pthread_t thread;
  if (pthread_create(&thread, &own, in_thread, NULL) != 0) return 2;
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
