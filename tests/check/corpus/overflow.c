// libsigsegv: an overflow of the stack that is caught on another stack and left by a longjmp
#include <setjmp.h>
#include <sigsegv.h>
#include <stdio.h>
#include <stdlib.h>
static sigjmp_buf back;
static volatile int passes;
static char stack[65536];
static void leave(void* a, void* b, void* c) { siglongjmp(back, 1); }
static void overflow(int emergency, stackoverflow_context_t scp) {
  passes++;
  sigsegv_leave_handler(leave, 0, 0, 0);
}
static int fault(void* address, int serious) {
  passes += 10;
  return sigsegv_leave_handler(leave, 0, 0, 0);
}
static volatile int sink;
static int deep(int n) {
  volatile char a[4096];
  a[0] = (char)n;
  return n >= 0 ? deep(n + 1) + a[0] : 0;
}
int main(void) {
  stackoverflow_install_handler(overflow, stack, sizeof stack);
  sigsegv_install_handler(fault);
  for (int i = 0; i < 2; i++)
    if (sigsetjmp(back, 1) == 0) sink = deep(0);
  if (sigsetjmp(back, 1) == 0) sink = *(volatile int*)8;
  printf("%d\n", passes);
  return 0;
}
