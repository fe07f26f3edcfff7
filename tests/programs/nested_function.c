// Test fixture: the address of a nested function is taken, for which GCC puts code on the stack.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int order[] = {3, 1, 2}, calls = 0;
  int compare(const void* a, const void* b) {
    ++calls;
    return *(const int*)a - *(const int*)b;
  }
  qsort(order, 3, sizeof *order, compare);
  printf("%d %d %d\n", order[0], order[1], order[2]);
  return calls == 0;
}
