/* Computed gotos, nested functions, tail calls, switch tables, builtin longjmp, inline asm jumps,
 * statement expressions. */
#include <stdio.h>
#include <stdlib.h>
static int run(const unsigned char* p) {
  static const void* const table[] = {&&inc, &&dec, &&dbl, &&end};
  int v = 0;
  goto* table[*p++];
inc:
  v++;
  goto* table[*p++];
dec:
  v--;
  goto* table[*p++];
dbl:
  v *= 2;
  goto* table[*p++];
end:
  return v;
}
static void* buffer[5];
static void __attribute__((noinline)) leave(void) { __builtin_longjmp(buffer, 1); }
static int __attribute__((noinline)) jumps(int n) {
  if (__builtin_setjmp(buffer)) return n;
  leave();
  return 0;
}
static int odd(int n);
static int __attribute__((noinline)) even(int n) { return n == 0 ? 1 : odd(n - 1); }
static int __attribute__((noinline)) odd(int n) { return n == 0 ? 0 : even(n - 1); }
static int apply(int (*f)(int), int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += f(i);
  return s;
}
static int sw(int x) {
  switch (x) {
    case 0:
      return 5;
    case 1:
      return abs(x);
    case 2:
      return 9;
    case 3:
      return rand() & 1;
    case 4:
      return 7;
    case 5:
      return 11;
    default:
      return 0;
  }
}
int main(int argc, char** argv) {
  (void)argv;
  int add = argc;
#ifndef __clang__
  int nested(int x) { return x + add; }
  printf("%d\n", apply(nested, 10));
#endif
  printf("%d %d %d\n", run((const unsigned char*)"\0\0\2\1\3"), jumps(4), even(1001));
  for (int i = 0; i < 9; i++) add += sw(i);
  int (*volatile f[])(int) = {sw, even, abs};
  for (int i = 0; i < 3; i++) add += f[i](i);
  return add == 0;
}
