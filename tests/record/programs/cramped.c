// Takes all address space from itself but 4 MB, and starts a thread.
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

static void* in_thread(void* unused) { return unused; }

int main(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) return 1;
  fclose(file);
  const struct rlimit limit = {pages * 4096 + (4 << 20), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_t thread;
  if (pthread_create(&thread, &small, in_thread, NULL) != 0) return 2;
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
