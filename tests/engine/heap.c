// The heap of a program at a fixed place grows: nothing of the engine lies in its way.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  enum { kMegabyte = 1 << 20, kWanted = 600 };
  int got = 0;
  while (got < kWanted && sbrk(kMegabyte) != (void*)-1) ++got;
  printf("%d MB\n", got);
  return 0;
}
