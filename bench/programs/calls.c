// Calls as many functions as it is told, nested and in turns that seldom come again: calls N
#include <stdio.h>
#include <stdlib.h>

static unsigned long made, wanted, mixed = 88172645463325252ul;

static unsigned next(void) {
  mixed ^= mixed << 13, mixed ^= mixed >> 7, mixed ^= mixed << 17;
  return (unsigned)(mixed >> 33);
}

static void some(unsigned depth);
__attribute__((noinline)) static void leaf(void) { ++made; }
__attribute__((noinline)) static void twice(unsigned depth) {
  ++made, some(depth + 1), some(depth + 2);
}
__attribute__((noinline)) static void row(unsigned depth) {
  ++made;
  for (unsigned i = next() % 5; i != 0; --i) leaf();
  some(depth + 1);
}
__attribute__((noinline)) static void some(unsigned depth) {
  ++made;
  if (depth > 24 || made >= wanted) return leaf();
  switch (next() % 3) {
    case 0:
      return twice(depth);
    case 1:
      return row(depth);
    default:
      leaf();
  }
}

int main(int argc, char** argv) {
  wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
  while (made < wanted) some(0);
  printf("%lu\n", made);
}
