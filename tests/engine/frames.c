// Handlers of signals whose frame the kernel does not write: where an alternate stack that the
// thread is on has no room for it, and without a restorer. Each in a child of its own; prints what
// came of it.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kAutoDisarm = 1u << 31, kDeepest = 40, kStack = 1 << 16, kBelow = 1 << 20 };

static int depth;
static void say(const char* text) { write(1, text, strlen(text)); }

static void nests(int number) {
  if (++depth == kDeepest) return say("as deep as it goes\n");
  raise(number);
}

static void comes(int number) { say("came\n"); }

// Below the alternate stack there is room, too.
static void by_stack(unsigned flags, int action_flags) {
  char* memory =
      mmap(NULL, kBelow + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {memory + kBelow, (int)flags, kStack};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = nests, .sa_flags = action_flags | SA_NODEFER};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  say("through\n");
}

static void on_the_alternate_stack(void) { by_stack(0, SA_ONSTACK); }
static void on_one_that_is_disarmed(void) { by_stack(kAutoDisarm, SA_ONSTACK); }
static void on_the_plain_stack(void) { by_stack(0, 0); }
static void without_a_restorer(void) {
  unsigned long action[4] = {(unsigned long)comes, 0, 0, 0};  // the kernel's
  syscall(SYS_rt_sigaction, SIGUSR1, action, NULL, 8);
  raise(SIGUSR1);
  say("through\n");
}

int main(void) {
  void (*const cases[])(void) = {on_the_alternate_stack, on_one_that_is_disarmed,
                                 on_the_plain_stack, without_a_restorer};
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      cases[i]();
      _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    printf("%u: %x\n", i, status);
    fflush(stdout);
  }
  return 0;
}
