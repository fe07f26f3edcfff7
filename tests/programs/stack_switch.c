// Changes stacks as no library does: by hand, with stack pointers in global variables, and by GCC's
// own setjmp, whose longjmp is no function.
#include <stdio.h>
#include <stdlib.h>

void* main_stack;
void* other_stack;
void to_other(void);
void to_main(void);

#define SWITCH(name, from, to)                                                              \
  asm("        .text\n        .type " #name ", @function\n        .globl " #name "\n" #name \
      ":\n"                                                                                 \
      "        push %rbp\n        push %rbx\n        push %r12\n        push %r13\n"        \
      "        push %r14\n        push %r15\n"                                              \
      "        mov %rsp, " #from "(%rip)\n        mov " #to                                 \
      "(%rip), %rsp\n"                                                                      \
      "        pop %r15\n        pop %r14\n        pop %r13\n        pop %r12\n"            \
      "        pop %rbx\n        pop %rbp\n        ret\n        .size " #name ", .-" #name "\n")
SWITCH(to_other, main_stack, other_stack);
SWITCH(to_main, other_stack, main_stack);

static int steps;
static void other(void) {
  for (;;) {
    ++steps;
    to_main();
  }
}

static void* buffer[5];
static __attribute__((noinline)) void leave(int depth) {
  if (depth > 0) leave(depth - 1);
  __builtin_longjmp(buffer, 1);
}
static __attribute__((noinline)) int come_back(int depth) {
  if (__builtin_setjmp(buffer) == 0) leave(depth);
  return depth;
}

int main(void) {
  enum { kSize = 64 * 1024, kSaved = 6 };
  char* stack = malloc(kSize);
  void** top = (void**)(stack + kSize - 16);
  *--top = NULL;
  *--top = (void*)other;
  for (int i = 0; i < kSaved; ++i) *--top = NULL;
  other_stack = top;
  for (int i = 0; i < 5; ++i) to_other();
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += come_back(i);
  printf("%d %d\n", steps, sum);
  return 0;
}
