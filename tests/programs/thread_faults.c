// Threads whose very first code is new to the emulator, and which then fault: the code behind the
// system call that makes a thread is thrown away each time, so parent and child race to have it
// translated again.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>  // clone()
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kThreads = 12, kFaults = 3 };

static char* volatile page;
static volatile sig_atomic_t faults;

static void on_fault(int signo) {
  faults += signo == SIGSEGV;
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
}

static void* work(void* nothing) {
  for (int i = 0; i < kFaults; ++i) {
    mprotect(page, kPage, PROT_NONE);
    page[i] = 1;
  }
  return nothing;
}

// Making code writable makes the emulator forget what it has translated of it.
static void forget_code_around(uintptr_t address) {
  void* const start = (void*)(address & -kPage);
  mprotect(start, kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
  mprotect(start, kPage, PROT_READ | PROT_EXEC);
}

int main(void) {
  page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    forget_code_around((uintptr_t)&clone);
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  printf("%d faults\n", (int)faults);
  return faults == kThreads * kFaults ? 0 : 1;
}
