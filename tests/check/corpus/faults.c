/* __builtin_longjmp out of handlers: of the function that was interrupted, in itself or in what it
 * called. */
#include <signal.h>
#include <stdio.h>
static void* buffer[5];
static volatile int handled;
static void handle(int number) {
  (void)number;
  handled++;
  __builtin_longjmp(buffer, 1);
}
__attribute__((noinline)) static int fault(volatile int* volatile where, volatile int raised) {
  if (__builtin_setjmp(buffer) == 0) {
    if (raised)
      raise(SIGSEGV);
    else
      *where = 1;
    return 0;
  }
  return 1;
}
static int deep(volatile int n) { return n == 0 ? fault(NULL, 0) : deep(n - 1) + 1; }
int main(void) {
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  int sum = 0;
  for (int i = 0; i < 6; i++) sum += fault(NULL, i & 1) + deep(i);
  printf("%d %d\n", sum, handled);
  return 0;
}
