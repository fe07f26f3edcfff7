// Works until /tmp/done is there. Linked with the C library as usual.
#include <unistd.h>

static volatile unsigned long sum;

static void work(void) {
  for (unsigned long i = 0; i < 200000; ++i) sum += i;
}

int main(void) {
  while (access("/tmp/done", F_OK) != 0) work();
  return 0;
}
