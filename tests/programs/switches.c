// Code addresses in data: a jump table, a computed goto, and functions that the library calls back.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t caught;

static void count(int number) {
  (void)number;
  ++caught;
}

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

// Dense enough that the compiler makes a jump table of it.
__attribute__((noinline)) static int choose(int which, int value) {
  switch (which) {
    case 0:
      return value * 3;
    case 1:
      return value ^ 0x55;
    case 2:
      return value / 7;
    case 3:
      return value << 3;
    case 4:
      return value - 1000;
    case 5:
      return value % 11;
    case 6:
      return ~value;
    case 7:
      puts("seven");
      return 7;
    default:
      return 0;
  }
}

__attribute__((noinline)) static int interpret(const unsigned char* program) {
  static const void* const labels[] = {&&add, &&triple, &&flip, &&halt};
  int sum = 0;
  goto* labels[*program];
add:
  ++sum;
  goto* labels[*++program];
triple:
  sum *= 3;
  goto* labels[*++program];
flip:
  sum ^= 5;
  goto* labels[*++program];
halt:
  return sum;
}

// The same by distances, which name no address.
__attribute__((noinline)) static int interpret_distances(const unsigned char* program) {
  static const int distances[] = {0, &&triple - &&add, &&flip - &&add, &&halt - &&add};
  int sum = 0;
  goto*(&&add + distances[*program]);
add:
  ++sum;
  goto*(&&add + distances[*++program]);
triple:
  sum *= 3;
  goto*(&&add + distances[*++program]);
flip:
  sum ^= 5;
  goto*(&&add + distances[*++program]);
halt:
  return sum;
}

struct Large {
  double a;
  int b;
};
// Returned in memory: on i386 the return takes the place's address off the stack.
__attribute__((noinline)) static struct Large large(int value) {
  const struct Large made = {value, value};
  return made;
}

int main(void) {
  int numbers[20];
  for (int i = 0; i < 20; ++i) numbers[i] = i * 7 % 20;
  qsort(numbers, 20, sizeof *numbers, compare);
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += choose(i, numbers[i]);
  static const unsigned char kProgram[] = {0, 1, 2, 0, 1, 1, 2, 3};
  sum += interpret(kProgram) + interpret_distances(kProgram);
  const int key = 5;
  const int* found = bsearch(&key, numbers, 20, sizeof *numbers, compare);
  signal(SIGUSR1, count);
  for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  printf("%d %g %d %Lf\n", sum, large(sum).a, found == NULL ? -1 : *found, 1.5L);
  return caught != 5;
}
