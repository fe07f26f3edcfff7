// Tail calls: functions left by a jump, direct and through a pointer, and a return that was pushed
// by hand, so that calls and returns do not pair.
#include <stdio.h>

typedef int (*Step)(int n, int sum);

static int ping(int n, int sum);
static int pong(int n, int sum);
static volatile Step next_step = ping;

__attribute__((noinline)) static int ping(int n, int sum) {
  return n == 0 ? sum : pong(n - 1, sum + 1);
}
__attribute__((noinline)) static int pong(int n, int sum) {
  return n == 0 ? sum : next_step(n - 1, sum + 2);
}

#if defined(__x86_64__)
// push target; ret: a jump that looks like a return.
__attribute__((noinline)) static int jump_by_return(int value) {
  __asm__ volatile(
      "lea 1f(%%rip), %%rax\n\t"
      "sub $128, %%rsp\n\t"
      "push %%rax\n\t"
      "ret\n"
      "1:\tadd $128, %%rsp\n\t"
      "add $1, %0"
      : "+r"(value)
      :
      : "rax", "memory", "cc");
  return value;
}
#else
__attribute__((noinline)) static int jump_by_return(int value) {
  __asm__ volatile(
      "call 2f\n\t"
      "jmp 1f\n"
      "2:\tret\n"
      "1:\tadd $1, %0"
      : "+r"(value)
      :
      : "memory", "cc");
  return value;
}
#endif

int main(void) {
  int sum = ping(50, 0);
  for (int i = 0; i < 10; ++i) sum = jump_by_return(sum);
  printf("sum %d\n", sum);
  return 0;
}
