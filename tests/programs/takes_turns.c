// Threads of the program's own: a signal's handler keeps the context of the one that was
// interrupted, and has another one go on. Each is interrupted in a place of its own, by its own
// signal, so that the turns are the same in every run.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kThreads = 3, kMain = kThreads, kTurns = 4 };

static gregset_t contexts[kThreads + 1];
static _Alignas(16) char stacks[kThreads][64 * 1024];
static int running = kMain;
static long self;
static volatile int done[kThreads], sum;

// kill(getpid(), SIGUSR1)
#define END_TURN() \
  __asm__ volatile("syscall" : : "a"(SYS_kill), "D"(self), "S"(SIGUSR1) : "rcx", "r11", "memory")

static __attribute__((noinline)) int work(int depth, int value) {
  return depth == 0 ? value : work(depth - 1, value) + depth;
}

static void first(void) {
  for (int i = 0; i < kTurns; ++i) {
    sum += work(i, 1);
    END_TURN();
  }
  done[0] = 1;
  END_TURN();
}

static __attribute__((noinline)) void end_turn_below(int depth) {
  if (depth > 0) end_turn_below(depth - 1);
  END_TURN();
}
static void second(void) {
  for (int i = 0; i < kTurns; ++i) {
    end_turn_below(i);
    sum += work(i, 10);
  }
  done[1] = 1;
  END_TURN();
}

static void third(void) {
  for (int i = 0; i < 2 * kTurns; ++i) {
    END_TURN();
    sum += work(3, 100);
  }
  done[2] = 1;
  END_TURN();
}

static int next(void) {
  for (int i = 1; i <= kThreads; ++i) {
    const int other = (running + i) % kThreads;
    if (!done[other]) return other;
  }
  return kMain;
}

static void on_end_of_turn(int signo, siginfo_t* info, void* context) {
  static void (*const kBodies[kThreads])(void) = {first, second, third};
  (void)signo, (void)info;
  gregset_t* registers = &((ucontext_t*)context)->uc_mcontext.gregs;
  if (running == kMain) {
    for (int i = 0; i < kThreads; ++i) {
      memcpy(&contexts[i], registers, sizeof *registers);
      contexts[i][REG_RIP] = (greg_t)kBodies[i];
      contexts[i][REG_RSP] = (greg_t)(stacks[i] + sizeof stacks[i] - 8);
    }
  }
  memcpy(&contexts[running], registers, sizeof *registers);
  running = next();
  memcpy(registers, &contexts[running], sizeof *registers);
}

static __attribute__((noinline)) void take_turns(void) { END_TURN(); }

int main(void) {
  const struct sigaction action = {.sa_sigaction = on_end_of_turn, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  self = getpid();
  take_turns();
  printf("%d\n", sum);
  return 0;
}
