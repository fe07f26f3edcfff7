// The smallest useful program; built static, at a fixed address and position-independent.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
