// One thread makes threads while another forks, or tries to execute what is no program: says how
// many children begin with more descriptors than the program has.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int end;

static int open_ones(void) {
  int count = 0;
  for (int fd = 0; fd < 64; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void* nothing(void* unused) { return unused; }

static void* make_threads(void* unused) {
  while (!__atomic_load_n(&end, __ATOMIC_RELAXED)) {
    pthread_t made;
    if (pthread_create(&made, NULL, nothing, NULL) == 0) pthread_join(made, NULL);
  }
  return unused;
}

static void* execute(void* unused) {
  char* const arguments[] = {"passwd", NULL};
  while (!__atomic_load_n(&end, __ATOMIC_RELAXED)) execv("/etc/passwd", arguments);
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  const int own = open_ones();
  pthread_t maker;
  if (pthread_create(&maker, NULL, argc > 1 ? execute : make_threads, NULL) != 0) return 1;
  int more = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(open_ones() != own);
    int status = 0;
    waitpid(child, &status, 0);
    more += status != 0;
  }
  __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
  pthread_join(maker, NULL);
  printf("%d\n", more);
  return 0;
}
