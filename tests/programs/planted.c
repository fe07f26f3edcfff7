// Goes on at addresses that its own text put somewhere, as runtimes of languages do: exceptions
// that load the stack pointer, coroutines in turn at one place, return addresses that no call made,
// setjmps in deep recursion. x86-64.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

// --- __builtin_longjmp past several levels of the recursion that its setjmps lie in (Ruby) ---

static void* tags[40][5];
static int caught;
static __attribute__((noinline)) int descend(int level, int target) {
  if (level == 40) {
    __builtin_longjmp(tags[target], 1);
  }
  volatile int at = level;
  volatile int goal = target;
  if (__builtin_setjmp(tags[level]) == 0) return descend(level + 1, target) + 1;
  ++caught;
  if (at > 2) return at;  // a frame that the jump left open goes on
  return at + goal;
}

// --- longjmp to one of hundreds of setjmps at one place, again and again (R) ---

static jmp_buf contexts[300];
static volatile int rounds;
static __attribute__((noinline)) int evaluate(int level) {
  if (level == 300) longjmp(contexts[(rounds * 53 + 7) % 300], 1);
  if (setjmp(contexts[level]) != 0) {
    if (++rounds % 4 != 0) return evaluate(level + 1) + 1;
    return level;
  }
  return evaluate(level + 1) + 1;
}

// --- exceptions: a chain of handlers, each pushed with the one before (OCaml) ---

void* handlers;
long protect(long (*body)(long), long argument);  // what raise_value() was given, if it was called
void raise_value(long value);
asm(R"(
        .text
        .type protect, @function
protect:
        push %rbx
        push %rbp
        lea 1f(%rip), %rax
        push %rax
        push handlers(%rip)
        mov %rsp, handlers(%rip)
        mov %rdi, %rax
        mov %rsi, %rdi
        sub $8, %rsp
        call *%rax
        add $8, %rsp
        pop handlers(%rip)
        pop %rdx
1:      pop %rbp
        pop %rbx
        ret
        .size protect, .-protect
        .type raise_value, @function
raise_value:
        mov %rdi, %rax
        mov handlers(%rip), %rsp
        pop handlers(%rip)
        ret
        .size raise_value, .-raise_value
)");

static long fails(long depth) {
  if (depth == 0) raise_value(7);
  return fails(depth - 1) + 1;
}
static long nested(long depth) {
  if (depth == 0) return protect(fails, 3);
  return protect(nested, depth - 1) + (depth % 2 == 0 ? protect(fails, depth) : 0);
}

// --- coroutines: left at a label, in turn, from one place (minicoro) ---

struct context {
  void *ip, *sp, *rbp, *rbx, *r12, *r13, *r14, *r15;
};
void switch_context(struct context* from, struct context* to);
void begin_coroutine(void);  // calls what is in r12 with what is in r13
void end_coroutine(void);    // where it returns to, one byte further: no call made that address
asm(R"(
        .text
        .type switch_context, @function
switch_context:
        lea 1f(%rip), %rax
        mov %rax, (%rdi)
        mov %rsp, 8(%rdi)
        mov %rbp, 16(%rdi)
        mov %rbx, 24(%rdi)
        mov %r12, 32(%rdi)
        mov %r13, 40(%rdi)
        mov %r14, 48(%rdi)
        mov %r15, 56(%rdi)
        mov 56(%rsi), %r15
        mov 48(%rsi), %r14
        mov 40(%rsi), %r13
        mov 32(%rsi), %r12
        mov 24(%rsi), %rbx
        mov 16(%rsi), %rbp
        mov 8(%rsi), %rsp
        jmp *(%rsi)
1:      ret
        .size switch_context, .-switch_context
        .type begin_coroutine, @function
begin_coroutine:
        mov %r13, %rdi
        jmp *%r12
        .size begin_coroutine, .-begin_coroutine
        .type end_coroutine, @function
end_coroutine:
        nop
        call coroutine_ended
        ud2
        .size end_coroutine, .-end_coroutine
)");

enum { kCoroutines = 5, kStack = 64 * 1024 };
static struct context main_context, contexts_of[kCoroutines];
static int current, ended[kCoroutines];
static __attribute__((noinline)) void yield(void) {
  switch_context(&contexts_of[current], &main_context);
}
__attribute__((used)) void coroutine_ended(void) {
  ended[current] = 1;
  yield();
}
static __attribute__((noinline)) void resume(int which) {
  current = which;
  switch_context(&main_context, &contexts_of[which]);
}
static __attribute__((noinline)) int count(int n) {
  if (n == 0) return 0;
  yield();
  const int rest = count(n - 1);
  if (n % 3 == 0) yield();
  return rest + 1;
}
static int sum;
static void work(void* argument) {
  const int n = (int)(long)argument;
  if (n % 2 == 0) yield();
  sum += count(n);
}
static void make(int which) {
  char* stack = malloc(kStack);
  void** top = (void**)(stack + kStack - 64);
  *top = (char*)end_coroutine + 1;
  contexts_of[which] = (struct context){
      .ip = (void*)begin_coroutine, .sp = top, .r12 = (void*)work, .r13 = (void*)(long)(which + 2)};
}

int main(void) {
  int total = 0;
  for (int target = 0; target < 40; target += 3) total += descend(0, target);
  printf("%d %d\n", total, caught);
  printf("%d\n", evaluate(0));
  long raised = 0;
  for (long depth = 0; depth < 8; ++depth) raised += nested(depth);
  printf("%ld\n", raised);
  for (int i = 0; i < kCoroutines; ++i) make(i);
  for (int left = kCoroutines; left > 0;) {
    left = 0;
    for (int i = 0; i < kCoroutines; ++i) {
      if (!ended[i]) resume(i);
      left += !ended[i];
    }
  }
  printf("%d\n", sum);
  return 0;
}
