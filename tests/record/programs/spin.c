// Branches without end, in a way that cannot be compressed well: more than 20 KB of trace a round.
// `spin SECONDS [ROUNDS [calls]]` stops by itself when that time is over and so many rounds are
// done, one after the other. Once they are done it takes a rest after each: some megabytes a
// second, which are read in no time. With 0 seconds it does not ask for the time: how the vDSO
// answers depends on when it is asked, and every run takes the same path. With `calls` it calls
// through pointers, ten times the trace for the same time. Says "ready" when it runs.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static volatile unsigned odd = 0;
static void count(void) { ++odd; }
static void count_two(void) { odd += 2; }
static void (*const volatile counts[])(void) = {count, count_two};

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? atoi(argv[1]) : 0;
  const double end = seconds > 0 ? now() + seconds : 0;
  long rounds = argc > 2 ? atol(argv[2]) : 0;
  const int calls = argc > 3;
  unsigned seed = 1;
  puts("ready");
  fflush(stdout);
  do {
    for (int i = 0; !calls && i < 100000; ++i) {
      seed = seed * 1664525 + 1013904223;
      if (seed & 0x10000) ++odd;
    }
    for (int i = 0; calls && i < 100000; ++i) {
      seed = seed * 1664525 + 1013904223;
      counts[seed >> 31]();
    }
    if (--rounds <= 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  } while (rounds > 0 || argc == 1 || (seconds > 0 && now() < end));
  puts("done");
  return 0;
}
