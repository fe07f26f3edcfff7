// Forbids itself to read the time-stamp counter, does without, and reads it all the same.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

static void on_rdtsc(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

int main(void) {
  struct sigaction act = {.sa_sigaction = on_rdtsc, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &act, NULL);
  printf("%d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
  unsigned sum = 0;
  for (int i = 0; i < 20000; ++i) {
    sum = sum * 3 + (unsigned)(getppid() > 0);
    if (i % 1000 == 0) __asm__ volatile("rdtsc" : "+a"(sum) : : "edx");
  }
  printf("%u\n", sum);
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  return 0;
}
