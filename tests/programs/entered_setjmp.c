// setjmp that is entered by a jump, behind a call of something else: its wrapper's last one, to the
// stub or through a pointer.
#include <setjmp.h>
#include <stdio.h>

static jmp_buf out;

static void leave(int n) {
  if (n > 0) leave(n - 1);
  longjmp(out, n + 1);
}

__attribute__((noinline, returns_twice, naked)) int keep(jmp_buf buffer) {
  __asm__("jmp _setjmp@PLT");
}

__attribute__((noinline, returns_twice, naked)) int keep_by(jmp_buf buffer, void* how) {
  __asm__("jmp *%rsi");
}

__attribute__((noinline)) static int again(int n) {
  volatile int times = 0;
  const int value = n % 2 == 0 ? keep(out) : keep_by(out, (void*)_setjmp);
  if (++times < 4) leave(n);
  return value;
}

int main(void) {
  int sum = 0;
  for (volatile int n = 0; n < 6; ++n) sum += again(n);
  printf("%d\n", sum);
  return sum == 6 ? 0 : 1;
}
