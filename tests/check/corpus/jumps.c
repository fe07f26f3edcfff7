#include <setjmp.h>
#include <stdio.h>
static jmp_buf b;
static int f(int n) {
  if (!n) longjmp(b, 1);
  return f(n - 1) + 1;
}
int main() {
  if (!setjmp(b)) f(5);
  for (int i = 0; i < 3; i++) printf("%d\n", i);
  return 0;
}
