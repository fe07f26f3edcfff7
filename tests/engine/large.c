// A program whose static memory reaches nearly as far as 2 GB, below which the engine needs some;
// or as the engine itself.
#include <stdio.h>

static char large[BYTES];

int main(int argc, char** argv) {
  large[sizeof large - (unsigned)argc] = 3;
  long sum = 0;
  for (unsigned long i = sizeof large - 1000; i < sizeof large; ++i) sum = sum * 3 + large[i];
  printf("%ld\n", sum);
  return 0;
}
