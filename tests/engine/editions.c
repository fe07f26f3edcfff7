// More code than the cache takes, so that it is closed again and again (engine/edition.h): code
// that is made and run once, with threads, signals and forks beside it. Prints sums that only
// depend on what the code does, and whether the process stayed small. Run with a cache of 1 MB;
// with a number: through so many MB of code at first.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kArea = 256 << 10, kFunction = 2048, kSteps = 140 };

static uint8_t* put(uint8_t* at, const char* bytes, unsigned count) {
  memcpy(at, bytes, count);
  return at + count;
}

static uint8_t* put_word(uint8_t* at, uint32_t word) { return put(at, (const char*)&word, 4); }

// uint32_t f(uint32_t): adds, exclusive ors, and jumps over what every other value skips.
static void make_function(uint8_t* at, uint32_t seed) {
  at = put(at, "\x89\xf8", 2);  // MOV EAX, EDI
  for (unsigned i = 0; i < kSteps; ++i) {
    seed = seed * 1664525 + 1013904223;
    at = put_word(put(at, "\x05", 1), seed);       // ADD EAX, seed
    at = put(at, "\xa8\x10\x74\x05", 4);           // TEST AL, 16; JZ over
    at = put_word(put(at, "\x35", 1), seed >> 3);  // XOR EAX, seed >> 3
  }
  put(at, "\xc3", 1);
}

typedef uint32_t (*Function)(uint32_t);

// An area full of functions, each called once.
static uint32_t run_area(uint32_t seed, uint32_t value) {
  uint8_t* area = mmap(0, kArea, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return 0;
  for (unsigned i = 0; i < kArea / kFunction; ++i) make_function(area + i * kFunction, seed + i);
  mprotect(area, kArea, PROT_READ | PROT_EXEC);
  for (unsigned i = 0; i < kArea / kFunction; ++i)
    value = ((Function)(area + i * kFunction))(value);
  munmap(area, kArea);
  return value;
}

static uint32_t run_much(unsigned areas, uint32_t value) {
  for (unsigned i = 0; i < areas; ++i) value = run_area(i, value);
  return value;
}

static void once(unsigned areas) {
  printf("once %08x\n", run_much(areas, 1));
  // An area that stays, written again in place.
  uint8_t* area =
      mmap(0, kArea, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t value = 1;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 100; ++i) {
      make_function(area + i * kFunction, round * 100 + i);
      value = ((Function)(area + i * kFunction))(value);
    }
    for (unsigned i = 0; i < 100; ++i) value = ((Function)(area + i * kFunction))(value);
  }
  printf("in place %08x\n", value);
}

static unsigned long peak(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (unsigned long)use.ru_maxrss << 10;
}

// Deep calls, pointers and loops in code that stays, while others close the editions.
static uint64_t deep(unsigned depth, uint64_t value) {
  if (depth == 0) return value * 3 + 1;
  const uint64_t got = deep(depth - 1, value ^ depth);
  return got * 5 + depth;
}
static uint64_t one(uint64_t v) { return v * 7 + 1; }
static uint64_t two(uint64_t v) { return v ^ v >> 9; }
static uint64_t three(uint64_t v) { return v + 0x9e3779b9; }
static uint64_t (*volatile const kinds[])(uint64_t) = {one, two, three, one, three};

static atomic_int stop;
static uint64_t work(uint64_t value, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    value = deep(40 + i % 30, value);
    for (unsigned k = 0; k < 50; ++k) value = kinds[(value >> 5 ^ k) % 5](value);
  }
  return value;
}

static void* worker(void* number) {
  uint64_t value = 0;
  // In rounds that all come to the same, for as long as editions are closed.
  do value = work((uint64_t)(uintptr_t)number, 500);
  while (!atomic_load(&stop));
  return (void*)(uintptr_t)value;
}

static void* sleeper(void* pipe_end) {
  char byte = 0;
  for (;;) {
    const uint64_t value = work(7, 3);
    if (read((int)(uintptr_t)pipe_end, &byte, 1) != 1) return (void*)(uintptr_t)value;
  }
}

static void threads(void) {
  pthread_t all[2], asleep;
  int ends[2];
  if (pipe(ends) != 0) return;
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&all[i], 0, worker, (void*)(i + 1));
  pthread_create(&asleep, 0, sleeper, (void*)(uintptr_t)ends[0]);
  printf("beside threads %08x\n", run_much(2, 2));
  if (write(ends[1], "x", 1) != 1) return;
  printf("and again %08x\n", run_much(1, 3));
  atomic_store(&stop, 1);
  for (unsigned i = 0; i < 2; ++i) {
    void* value = 0;
    pthread_join(all[i], &value);
    printf("worker %u: %016lx\n", i, (unsigned long)value);
  }
  close(ends[1]);
  void* value = 0;
  pthread_join(asleep, &value);
  printf("sleeper: %016lx\n", (unsigned long)value);
}

static volatile sig_atomic_t ticks;
static sigjmp_buf jump;
static volatile sig_atomic_t may_jump;
static uint64_t kept;
static void on_tick(int number) {
  (void)number;
  ++ticks;
  kept = work(5, 1);
  if (may_jump && ticks % 16 == 0) siglongjmp(jump, 1);
}

static void signals(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, 0);
  printf("under signals %08x\n", run_much(2, 4));
  volatile unsigned jumped = 0;
  may_jump = 1;
  while (jumped < 3) {
    if (sigsetjmp(jump, 1) != 0) ++jumped;
    if (jumped < 3) run_area(jumped, 1);
  }
  may_jump = 0;
  setitimer(ITIMER_REAL, &never, 0);
  printf("ticks: %d, %016lx\n", ticks > 10, (unsigned long)kept);
}

static void forks(void) {
  for (unsigned i = 0; i < 2; ++i) {
    run_much(1, i);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      printf("child %u: %08x %016lx\n", i, run_much(1, i), (unsigned long)work(i, 10));
      fflush(stdout);
      _exit(i);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("ended %x, parent %08x\n", status, run_much(1, i));
  }
}

int main(int count, char** words) {
  once(count > 1 ? 4 * atoi(words[1]) : 8);
  // Two editions are 1 MB, the fixed tables 3 MB, stacks and lists less than 4.
  printf("small: %d\n", peak() < 16ul << 20);
  threads();
  signals();
  forks();
  printf("still small: %d\n", peak() < 32ul << 20);
  return 0;
}
