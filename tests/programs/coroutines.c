// Coroutines by makecontext and swapcontext: stacks change under the returns.
#include <stdio.h>
#include <ucontext.h>

enum { kCoroutines = 3, kSteps = 10, kStack = 64 * 1024 };

static ucontext_t scheduler;
static ucontext_t contexts[kCoroutines];
static char stacks[kCoroutines][kStack];
static int progress[kCoroutines];

__attribute__((noinline)) static void yield_from(int index, int depth) {
  if (depth > 0) {
    yield_from(index, depth - 1);
    progress[index] += depth;
  } else {
    swapcontext(&contexts[index], &scheduler);
  }
}

static void run(int index) {
  for (int step = 0; step < kSteps; ++step) yield_from(index, (step + index) % 4);
}

int main(void) {
  for (int i = 0; i < kCoroutines; ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = kStack;
    contexts[i].uc_link = &scheduler;
    makecontext(&contexts[i], (void (*)(void))run, 1, i);
  }
  for (int step = 0; step <= kSteps; ++step) {
    for (int i = 0; i < kCoroutines; ++i) swapcontext(&scheduler, &contexts[i]);
  }
  printf("%d %d %d\n", progress[0], progress[1], progress[2]);
  return 0;
}
