// Stacks switched by the program's own code: returns and jumps behind a load of RSP, a guard
// address that is planted, makecontext, a stack within a stack's buffer, and an alternate one for
// signals that is left by longjmp.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef NO_CONTEXT
#include <ucontext.h>
#endif
#define SIZE (64 << 10)
// Saves what calls keep, and returns on the other stack.
void by_return(void** save, void* load);
__asm__(
    ".text\n.globl by_return\n.type by_return,@function\nby_return:\n"
    "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp,(%rdi); mov %rsi,%rsp\n"
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n"
    ".size by_return,.-by_return\n");
// The same with the place kept apart, by a jump (minicoro's).
struct regs {
  void *rip, *rsp, *rbp, *rbx, *r12, *r13, *r14, *r15;
};
int by_jump(struct regs* from, struct regs* to);
__asm__(
    ".text\n.globl by_jump\n.type by_jump,@function\nby_jump:\n"
    "lea 1f(%rip),%rax; mov %rax,(%rdi); mov %rsp,8(%rdi); mov %rbp,16(%rdi); mov %rbx,24(%rdi)\n"
    "mov %r12,32(%rdi); mov %r13,40(%rdi); mov %r14,48(%rdi); mov %r15,56(%rdi)\n"
    "mov 56(%rsi),%r15; mov 48(%rsi),%r14; mov 40(%rsi),%r13; mov 32(%rsi),%r12\n"
    "mov 24(%rsi),%rbx; mov 16(%rsi),%rbp; mov 8(%rsi),%rsp; jmp *(%rsi)\n"
    "1: ret\n.size by_jump,.-by_jump\n");
// Takes the return address off first (libaco's).
void by_pop(struct regs* from, struct regs* to);
__asm__(
    ".text\n.globl by_pop\n.type by_pop,@function\nby_pop:\n"
    "mov (%rsp),%rdx; lea 8(%rsp),%rcx; mov %r12,32(%rdi); mov %r13,40(%rdi); mov %r14,48(%rdi); mov %r15,56(%rdi)\n"
    "mov %rdx,(%rdi); mov %rcx,8(%rdi); mov %rbx,24(%rdi); mov %rbp,16(%rdi)\n"
    "mov 32(%rsi),%r12; mov 40(%rsi),%r13; mov 48(%rsi),%r14; mov 56(%rsi),%r15\n"
    "mov (%rsi),%rax; mov 8(%rsi),%rcx; mov 24(%rsi),%rbx; mov 16(%rsi),%rbp; xor %edx,%edx\n"
    "mov %rcx,%rsp; jmp *%rax\n.size by_pop,.-by_pop\n");

static void *main_sp, *co_sp;
static void guard(void) {
  puts("the coroutine returned");
  exit(1);
}
static int turns;
static void body(void) {
  for (;;) {
    ++turns;
    by_return(&co_sp, main_sp);
  }
}
static struct regs main_regs, co_regs[3];
static void jump_body(void) {
  for (int i = 0;; ++i) {
    turns += i;
    by_jump(&co_regs[turns % 2], &main_regs);
  }
}
static void pop_body(void) {
  for (;;) {
    ++turns;
    by_pop(&co_regs[2], &main_regs);
  }
}
static void* stack_with(void* first, void* last) {
  char* memory = malloc(SIZE);
  void** top = (void**)((uintptr_t)(memory + SIZE) & ~(uintptr_t)15);
  *--top = 0;
  *--top = last;
  *--top = first;
  return top;
}
#ifndef NO_CONTEXT
static ucontext_t at_main, at_co;
static void context_body(int n) {
  for (int i = 0; i < n; ++i) swapcontext(&at_co, &at_main);
}
#endif
static sigjmp_buf out;
static void handler(int number) { siglongjmp(out, number); }
int main(void) {
  void** top = stack_with((void*)body, (void*)guard);
  top -= 6;
  co_sp = top;
  for (int i = 0; i < 5; ++i) by_return(&main_sp, co_sp);
  for (int k = 0; k < 2; ++k) {
    co_regs[k].rip = (void*)jump_body;
    co_regs[k].rsp = (void**)stack_with(0, (void*)guard) + 1;
  }
  for (int i = 0; i < 6; ++i) by_jump(&main_regs, &co_regs[turns % 2]);
  co_regs[2].rip = (void*)pop_body;
  co_regs[2].rsp = (void**)stack_with(0, (void*)guard) + 1;
  for (int i = 0; i < 5; ++i) by_pop(&main_regs, &co_regs[2]);
#ifndef NO_CONTEXT
  getcontext(&at_co);
  at_co.uc_stack.ss_sp = malloc(SIZE);
  at_co.uc_stack.ss_size = SIZE;
  at_co.uc_link = &at_main;
  makecontext(&at_co, (void (*)(void))context_body, 1, 3);
  for (int i = 0; i < 4; ++i) swapcontext(&at_main, &at_co);
#endif
  stack_t other = {.ss_sp = malloc(SIZE), .ss_size = SIZE};
  sigaltstack(&other, 0);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
  sigaction(SIGUSR1, &action, 0);
  for (volatile int i = 0; i < 3; ++i)
    if (sigsetjmp(out, 1) == 0) raise(SIGUSR1);
  printf("%d\n", turns);
  return 0;
}
