// A continuation that is a copy of the stack, as some interpreters of Scheme have: a function that
// has returned returns again. With an argument it is an attack, which goes there without the copy.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBelow = 256, kPage = 4096 };

static struct {
  jmp_buf place;
  char* from;
  char* copy;
  size_t size;
} kept;
static char* base;

__attribute__((noinline)) static int capture(void) {
  kept.from = (char*)__builtin_frame_address(0) - kBelow;
  kept.size = (size_t)(base - kept.from);
  kept.copy = malloc(kept.size);
  memcpy(kept.copy, kept.from, kept.size);
  const int again = setjmp(kept.place);
  if (again == 9) _exit(0);
  return again;
}

__attribute__((noinline)) static int middle(int n) {
  const volatile int local = n;
  return capture() + local;
}

__attribute__((noinline)) static void resume(int n) {
  volatile char below[kPage];
  below[0] = 0;
  if ((char*)below + kPage > kept.from) {
    resume(n);
  } else {
    memcpy(kept.from, kept.copy, kept.size);
    longjmp(kept.place, n);
  }
  below[1] = 0;
}

__attribute__((noinline)) static void go_there(void) { longjmp(kept.place, 9); }

int main(int argc, char** argv) {
  (void)argv;
  base = __builtin_frame_address(0);
  static int times;
  const int n = middle(40);
  printf("%d\n", n);
  fflush(stdout);
  if (argc > 1) go_there();
  if (times++ < 3) resume(times);
  return 0;
}
