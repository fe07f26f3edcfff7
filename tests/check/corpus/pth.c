// GNU Pth: threads in user space.
#include <pth.h>
#include <stdio.h>
static void* work(void* n) {
  for (int i = 0; i < 5; ++i) pth_yield(NULL);
  if ((long)n == 2) pth_exit(n);
  return n;
}
int main(void) {
  pth_init();
  pth_t threads[4];
  for (long i = 0; i < 4; ++i) threads[i] = pth_spawn(PTH_ATTR_DEFAULT, work, (void*)i);
  long sum = 0;
  for (int i = 0; i < 4; ++i) {
    void* value;
    pth_join(threads[i], &value);
    sum += (long)value;
  }
  printf("%ld\n", sum);
  pth_kill();
  return 0;
}
