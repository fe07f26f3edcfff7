// Callbacks on another stack, from which a function ends that gets its caller's stack back through
// the frame pointer, as Wine's calls of user mode do; nested, with calls open on both sides.
#include <stdio.h>
#include <stdlib.h>

struct saved {
  void* frame;
  struct saved* before;
};
static struct saved* top;

// long call_on(void* stack, void (*function)(void), struct saved* saved)
long call_on(void* stack, void (*function)(void), struct saved* saved);
// Ends the last call_on(), which returns `value`.
void finish(long value, struct saved* saved) __attribute__((noreturn));
__asm__(
    ".text\n"
    ".globl call_on\n.type call_on, @function\n"
    "call_on: sub $0x38, %rsp\n"
    "  mov %rbp, 0x30(%rsp)\n  lea 0x30(%rsp), %rbp\n"
    "  mov %rbx, -8(%rbp)\n  mov %r12, -16(%rbp)\n  mov %r13, -24(%rbp)\n"
    "  mov %r14, -32(%rbp)\n  mov %r15, -40(%rbp)\n"
    "  mov %rbp, (%rdx)\n  mov %rdi, %rsp\n  jmp *%rsi\n"
    ".size call_on, .-call_on\n"
    ".globl finish\n.type finish, @function\n"
    "finish: mov (%rsi), %rbp\n"
    "  mov -40(%rbp), %r15\n  mov -32(%rbp), %r14\n  mov -24(%rbp), %r13\n"
    "  mov -16(%rbp), %r12\n  mov -8(%rbp), %rbx\n"
    "  leave\n  mov %rdi, %rax\n  ret\n"
    ".size finish, .-finish\n");

static int depth;

static void __attribute__((noinline)) end_of(int calls) {
  if (calls > 0) {
    end_of(calls - 1);
    puts("never");
  }
  struct saved* const mine = top;
  top = mine->before;
  finish(depth--, mine);
}

static long __attribute__((noinline)) call_back(void);

static void callee(void) {
  const long inner = ++depth < 5 ? call_back() : 0;
  printf("depth %d, inner %ld\n", depth, inner);
  end_of(depth);
}

static long __attribute__((noinline)) call_back(void) {
  enum { kSize = 1 << 16 };
  char* const stack = malloc(kSize);
  struct saved mine = {.before = top};
  top = &mine;
  const long result = call_on(stack + kSize - 8, callee, &mine);
  free(stack);
  return result;
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 20; ++i) sum += call_back();
  printf("%ld\n", sum);
  return 0;
}
