// torture SECONDS: everything at once, until the time is over. A timer at 10 kHz interrupts,
// threads come and go, code is made and made anew, children fork, execute and are killed. Prints
// only what must be the same in every run.
//
// The timer ends with each round after so many signals: where one of them takes longer than they
// are apart, as it may on a slow machine, the program comes no further while they come.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 200, kTicks = 2000 };
static volatile int over;
static volatile sig_atomic_t ticks, ticks_left;
static unsigned wrong;

static void interrupt_every(int microseconds) {
  const struct itimerval often = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &often, NULL);
}

static void tick(int number) {
  ++ticks;
  if (--ticks_left <= 0) interrupt_every(0);
}
static void expect(int right) {
  if (!right) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static uint64_t mix(uint64_t value, int rounds) {
  for (int i = 0; i < rounds; ++i)
    value = (value ^ value >> 7) * 1099511628211u + (value & 1 ? 3 : 5);
  return value;
}

static void* compute(void* seed) {
  const uint64_t first = mix((uintptr_t)seed, 2000);
  for (int i = 0; i < 5; ++i) expect(mix((uintptr_t)seed, 2000) == first);
  return NULL;
}

// MOV EAX, value; RET: at the same place again and again, while another thread calls it.
static void* make_code(void* unused) {
  unsigned char* page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (unsigned i = 0; !over; ++i) {
    unsigned char* at = page + i % 7 * 64;
    const uint32_t value = i * 2654435761u;
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
    expect(((uint32_t (*)(void))at)() == value);
    if (i % 64 == 0) {
      munmap(page, 4096);
      page =
          mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
  }
  return NULL;
}

static void child(int how) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (how == 0) {
      execl("/bin/sh", "sh", "-c", "exit 9", NULL);
      _exit(1);
    }
    for (;;) mix(1, 1000);
  }
  int status = 0;
  if (how == 1) {
    usleep(3000);
    kill(pid, SIGKILL);
  }
  while (waitpid(pid, &status, 0) < 0) {
  }
  expect(how == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 9
                  : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char** argv) {
  const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  pthread_t makers[2], threads[kThreads];
  for (int i = 0; i < 2; ++i) pthread_create(&makers[i], NULL, make_code, NULL);
  for (int round = 0; round < 2 || time(NULL) < end; ++round) {
    ticks_left = kTicks;
    interrupt_every(100);
    for (int i = 0; i < kThreads; ++i)
      pthread_create(&threads[i], NULL, compute, (void*)(uintptr_t)i);
    child(round % 2);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    while (ticks <= 10) usleep(100);
  }
  over = 1;
  for (int i = 0; i < 2; ++i) pthread_join(makers[i], NULL);
  printf("wrong: %u\n", wrong);
  return 0;
}
