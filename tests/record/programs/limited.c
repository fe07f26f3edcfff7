// Limits its own addresses (RLIMIT_AS) and data (RLIMIT_DATA), and finds that to hold: of itself, a
// child, a thread and a program that it executes.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMega = 1 << 20 };

static void show(const char* who) {
  struct rlimit limit, same;
  getrlimit(RLIMIT_AS, &limit);
  prlimit(0, RLIMIT_AS, NULL, &same);
  printf("%s: %lu of %lu, %d\n", who, limit.rlim_cur, limit.rlim_max,
         limit.rlim_cur == same.rlim_cur && limit.rlim_max == same.rlim_max);
  fflush(stdout);
}

static void* map(unsigned long megas) {
  void* got = mmap(NULL, megas * kMega, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%lu MB: %s\n", megas, got != MAP_FAILED ? "here" : errno == ENOMEM ? "no memory" : "?");
  fflush(stdout);
  return got;
}

static void* in_thread(void* unused) {
  show("thread");
  return unused;
}

int main(int argc, char** argv) {
  show(argc > 1 ? "executed" : "first");
  if (argc > 1) {
    map(300);
    return 5;
  }
  struct rlimit limit = {100 * kMega + 123, 200 * kMega};
  printf("%d\n", setrlimit(RLIMIT_AS, &limit));
  show("limited");
  void* first = map(60);
  map(60);
  printf("%d\n", mremap(first, 60 * kMega, 130 * kMega, MREMAP_MAYMOVE) != MAP_FAILED);
  printf("%d %d\n", sbrk(80 * kMega) != (void*)-1, sbrk(kMega) != (void*)-1);
  limit.rlim_cur = limit.rlim_max;
  printf("%d\n", prlimit(getpid(), RLIMIT_AS, &limit, NULL));
  map(60);
  pthread_t thread;
  const int started = pthread_create(&thread, NULL, in_thread, NULL);
  if (started == 0) pthread_join(thread, NULL);
  printf("%d\n", started);
  limit.rlim_cur = 30 * kMega + 1;
  printf("%d\n", setrlimit(RLIMIT_DATA, &limit));
  getrlimit(RLIMIT_DATA, &limit);
  printf("data: %lu of %lu\n", limit.rlim_cur, limit.rlim_max);
  const int kinds[] = {MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE};
  const unsigned long megas[] = {10, 20, 25};
  for (int i = 0; i < 3; ++i) {
    void* got =
        mmap(NULL, megas[i] * kMega, PROT_READ | PROT_WRITE, kinds[i] | MAP_ANONYMOUS, -1, 0);
    printf("data of %lu MB: %d\n", megas[i], got != MAP_FAILED);
  }
  printf("%d\n", sbrk(25 * kMega) != (void*)-1);
  // A limit of 0 holds for the heap alone.
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_DATA, &limit);
  getrlimit(RLIMIT_DATA, &limit);
  printf(
      "no data, of %lu: %d %d\n", limit.rlim_max,
      mmap(NULL, kMega, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED,
      sbrk(4096) != (void*)-1);
  limit.rlim_cur = 30 * kMega + 1;
  setrlimit(RLIMIT_DATA, &limit);
  fflush(stdout);
  if (fork() == 0) {
    show("child");
    execl("/proc/self/exe", argv[0], "again", NULL);
  }
  int status = 0;
  wait(&status);
  printf("%d\n", WEXITSTATUS(status));
  return 0;
}
