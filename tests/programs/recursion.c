// Recursion deeper than the 64 returns that a processor's trace compresses, straight and mutual.
#include <stdio.h>

__attribute__((noinline)) static int deep(int n) { return n == 0 ? 0 : deep(n - 1) + 1; }

static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1) + 0; }
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1) + 0; }

__attribute__((noinline)) static int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }

int main(void) {
  int sum = 0;
  for (int depth = 60; depth <= 70; ++depth) sum += deep(depth);
  printf("%d %d %d\n", sum + deep(1000), even(200), tree(12));
  return 0;
}
