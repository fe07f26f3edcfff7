// Branches without end, in a way that cannot be compressed well; `spin SECONDS` stops by itself.
// Says "ready" when it runs.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  const time_t end = argc > 1 ? time(NULL) + atoi(argv[1]) : 0;
  volatile unsigned odd = 0;
  unsigned seed = 1;
  puts("ready");
  fflush(stdout);
  do {
    for (int i = 0; i < 100000; ++i) {
      seed = seed * 1664525 + 1013904223;
      if (seed & 0x10000) ++odd;
    }
  } while (end == 0 || time(NULL) < end);
  puts("done");
  return 0;
}
