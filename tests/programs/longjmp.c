// longjmp over several frames, again and again: returns that never come.
#include <setjmp.h>
#include <stdio.h>

static jmp_buf target;

__attribute__((noinline)) static int leap(int depth) {
  if (depth == 0) longjmp(target, 1);
  return leap(depth - 1) + 1;
}

int main(void) {
  volatile int leaps = 0;
  for (volatile int i = 0; i < 100; ++i) {
    if (setjmp(target) == 0) {
      leap(i % 7);
    } else {
      ++leaps;
    }
  }
  printf("leaps %d\n", leaps);
  return 0;
}
