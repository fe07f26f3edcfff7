// Thread variables that are found by descriptors (TLSDESC): of a library that is linked, of one
// that is opened, of such as has nothing to start with, and one that nobody has. By -DLIBRARY the
// library.
#include <stdio.h>
#ifdef LIBRARY
__thread int counted = 1;
static __thread char own[64];
#ifdef __GLIBC__
extern __thread int nobodys __attribute__((weak));
#else
static __thread int nobodys;  // musl reads through the null pointer as it loads the file
#endif

int count(int by) {
  own[by & 63] = (char)by;
  counted += by;
  return counted + own[by & 63] + (&nobodys != 0);
}
#else
#include <dlfcn.h>
#include <pthread.h>

int count(int by);
static int (*opened)(int);

static void* in_thread(void* sum) {
  for (int i = 0; i < 5; ++i) *(int*)sum += count(i) + opened(i);
  return sum;
}

int main(void) {
  opened = (int (*)(int))dlsym(dlopen("./libopened.so", RTLD_LAZY), "count");
  if (opened == 0) return 1;
  pthread_t threads[3];
  int sums[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, in_thread, &sums[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  printf("%d %d %d\n", sums[0], sums[1], sums[2]);
  return 0;
}
#endif
