// A child that shares its parent's memory (vfork) goes on where the parent is killed, or is
// replaced as another of its threads executes a program: while its other threads were looking at
// code, in most rounds, which they make all the time.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 12, kMakers = 2, kSteps = 12000, kCode = 32768, kPatience = 20000 };
static volatile int maker, child_runs;

// MOV EAX, value; INC EAX again and again; RET: made anew, and called.
static uint32_t make_and_call(unsigned char* code, uint32_t value) {
  unsigned char* at = code + value % 7 * 8;
  unsigned char* const begin = at;
  *at++ = 0xb8;
  memcpy(at, &value, 4);
  at += 4;
  for (int i = 0; i < kSteps; ++i) {
    *at++ = 0xff;
    *at++ = 0xc0;
  }
  *at = 0xc3;
  return ((uint32_t (*)(void))begin)() - kSteps;
}

static unsigned char* new_code(void) {
  return mmap(NULL, kCode, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void* make(void* unused) {
  unsigned char* const code = new_code();
  maker = gettid();
  for (uint32_t value = 0;; ++value) make_and_call(code, value);
}

static void* execute(void* unused) {
  while (!child_runs) usleep(1000);
  execl("/bin/true", "true", NULL);
  return NULL;
}

// Says its number, and at the end that it is there.
static void run_child(unsigned char* code, int to) {
  const pid_t self = getpid(), parent = getppid();
  write(to, &self, sizeof self);
  child_runs = 1;
  while (syscall(SYS_tgkill, parent, maker, 0) == 0) usleep(1000);
  const uint32_t made = make_and_call(code, 7);
  write(to, &made, sizeof made);
  _exit(0);
}

static void run_parent(int executes, int to) {
  unsigned char* const code = new_code();
  pthread_t thread;
  for (int i = 0; i < kMakers; ++i) pthread_create(&thread, NULL, make, NULL);
  if (executes) pthread_create(&thread, NULL, execute, NULL);
  while (maker == 0) usleep(1000);
  if (vfork() == 0) run_child(code, to);
  for (;;) pause();
}

static int comes(int from, void* what, size_t bytes) {
  struct pollfd ready = {from, POLLIN, 0};
  return poll(&ready, 1, kPatience) == 1 && read(from, what, bytes) == (ssize_t)bytes;
}

int main(void) {
  int went_on = 0;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    pipe(ends);
    const pid_t parent = fork();
    if (parent == 0) run_parent(round % 2, ends[1]);
    pid_t child = 0;
    uint32_t made = 0;
    if (comes(ends[0], &child, sizeof child) && round % 2 == 0) kill(parent, SIGKILL);
    const int there = comes(ends[0], &made, sizeof made) && made == 7;
    went_on += there;
    if (!there) {
      if (child != 0) kill(child, SIGKILL);
      kill(parent, SIGKILL);
    }
    waitpid(parent, NULL, 0);
    close(ends[0]), close(ends[1]);
    if (!there) break;
  }
  printf("went on: %d\n", went_on);
  return 0;
}
