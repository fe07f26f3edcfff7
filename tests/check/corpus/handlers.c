// Exceptions whose handlers only a table of the program's own knows, as Dart's: a stub restores the
// frame of the function that handles, another jumps to its handler, and that takes the stack of its
// frame. Through several calls, again and again.
#include <stdio.h>

struct handler {
  void* frame;
  void* code;
  struct handler* outer;
};
static struct handler* innermost;

// Calls body(number); where that throws, what was thrown, else 0.
long guarded(void (*body)(long), long number, struct handler* handler);
void resume(void* frame, void* code, long thrown) __attribute__((noreturn));
__asm__(
    ".text\n"
    ".globl guarded\n.type guarded, @function\n"
    "guarded: push %rbp\n  mov %rsp, %rbp\n  sub $0x30, %rsp\n"
    "  mov %rbx, -8(%rbp)\n  mov %r12, -16(%rbp)\n  mov %r13, -24(%rbp)\n"
    "  mov %r14, -32(%rbp)\n  mov %r15, -40(%rbp)\n"
    "  mov %rbp, (%rdx)\n"
    "  mov %rdi, %rax\n  mov %rsi, %rdi\n  call *%rax\n"
    "  xor %eax, %eax\n  leave\n  ret\n"
    "1: lea -0x30(%rbp), %rsp\n"
    "  mov -8(%rbp), %rbx\n  mov -16(%rbp), %r12\n  mov -24(%rbp), %r13\n"
    "  mov -32(%rbp), %r14\n  mov -40(%rbp), %r15\n"
    "  leave\n  ret\n"
    ".size guarded, .-guarded\n"
    ".section .rodata\n.globl handler_distance\nhandler_distance: .quad 1b - guarded\n"
    ".text\n"
    ".globl resume\n.type resume, @function\n"
    "resume: mov %rdi, %rbp\n  lea -0x30(%rbp), %rsp\n  mov %rsi, %rdi\n"
    "  mov %rdx, %rax\n  lea run_handler(%rip), %rcx\n  jmp *%rcx\n"
    ".size resume, .-resume\n"
    ".globl run_handler\n.type run_handler, @function\n"
    "run_handler: mov %rdi, %rdx\n  jmp *%rdx\n"
    ".size run_handler, .-run_handler\n");
extern const long handler_distance;

static void throws(long what) {
  struct handler* const handler = innermost;
  innermost = handler->outer;
  resume(handler->frame, handler->code, what);
}

static void __attribute__((noinline)) deeper(long number) {
  if (number % 4 == 0) throws(number);
  if (number > 0) deeper(number - 1);
  printf("%ld: not reached\n", number);
}

static long attempt(void (*body)(long), long number) {
  struct handler mine = {.code = (char*)guarded + handler_distance, .outer = innermost};
  innermost = &mine;
  return guarded(body, number, &mine);
}

static void outer(long number) {
  printf("inner: %ld\n", attempt(deeper, number));
  throws(number + 1);
}

int main(void) {
  for (long i = 1; i < 8; ++i) printf("outer: %ld\n", attempt(outer, i));
  return 0;
}
