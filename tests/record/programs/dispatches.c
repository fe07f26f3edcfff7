// Threads whose system calls are signals by a byte of theirs (Syscall User Dispatch), as Wine's:
// one with a range besides, and one that asks for it once a line has been read. Prints "ready",
// answers each line once all have got on, and says at the end of its input whether all was right.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetUserDispatch = 59, kOn = 1, kAnswer = 4711, kThreads = 3 };

static atomic_int over, lines, wrong;
static atomic_ulong rounds[kThreads];
static __thread volatile char selector;

static void answers(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  selector = 0;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = kAnswer;
}

// Not one of the C library's, which lies elsewhere.
static long asks(void) {
  long result = SYS_getppid;
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
  return result;
}

static int dispatch(void* start, unsigned long bytes) {
  return prctl(kSetUserDispatch, kOn, start, bytes, &selector);
}

static void* works(void* number) {
  const long self = (long)number;
  char* const half = (char*)((unsigned long)&asks & ~0xfffffffful);
  while (self == 2 && atomic_load(&lines) == 0) usleep(1000);
  // Below and above what the program's own code may be in: all calls from there go through.
  if (dispatch(self == 1 ? half : NULL, self == 1 ? 1 : 0) != 0) atomic_store(&wrong, 1);
  while (!atomic_load(&over)) {
    selector = 1;
    if (asks() != kAnswer) atomic_store(&wrong, 1);
    if (asks() == kAnswer) atomic_store(&wrong, 1);
    usleep(500);
    atomic_fetch_add(&rounds[self], 1);
  }
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = answers, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, works, (void*)i);
  puts("ready");
  fflush(stdout);
  char text[64];
  while (read(0, text, sizeof(text)) > 0) {
    atomic_fetch_add(&lines, 1);
    for (int i = 0; i < kThreads; ++i) {
      const unsigned long before = atomic_load(&rounds[i]);
      while (atomic_load(&rounds[i]) < before + 5) usleep(1000);
    }
    puts("goes on");
    fflush(stdout);
  }
  atomic_store(&lines, 1);
  atomic_store(&over, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  puts(atomic_load(&wrong) ? "something was wrong" : "all as ever");
  return 3;
}
