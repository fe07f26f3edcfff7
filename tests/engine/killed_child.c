// A child that shares its parent's memory (vfork) is killed at any moment, in most rounds while
// code that it has just made is being looked at: nobody else waits for it, and code is the newest.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 20, kSteps = 12000, kCode = 32768, kPage = 4096 };
static unsigned char* code;
static volatile pid_t child;
static volatile int over;
static unsigned wrong;

// MOV EAX, value; INC EAX again and again; RET: made anew, and called.
static void make_and_call(uint32_t value) {
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
  if (((uint32_t (*)(void))begin)() != value + kSteps) {
    __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
  }
}

// Runs code of its own that is made all the time, too: it may wait for what the child holds.
static void* kill_children(void* unused) {
  unsigned char* const page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (uint32_t round = 0; !over; ++round) {
    while (child == 0 && !over) usleep(20);
    if (over) break;
    const struct timespec shortly = {0, round * 7919 % 1000 * 1000};
    nanosleep(&shortly, NULL);
    const pid_t pid = child;
    child = 0;  // first: the next one follows at once
    kill(pid, SIGKILL);
    memcpy(page + round % 60 * 64, "\xb8\x07\x00\x00\x00\xc3", 6);
    if (((uint32_t (*)(void))(page + round % 60 * 64))() != 7) ++wrong;
  }
  return NULL;
}

int main(void) {
  code = mmap(NULL, kCode, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t killer;
  pthread_create(&killer, NULL, kill_children, NULL);
  int killed = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const pid_t pid = vfork();
    if (pid == 0) {
      child = getpid();
      for (uint32_t value = round;; value += 997) make_and_call(value);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    for (uint32_t value = 0; value < 4; ++value) make_and_call(round + value * 1000);
  }
  over = 1;
  pthread_join(killer, NULL);
  printf("killed: %d, wrong: %u\n", killed, wrong);
  return 0;
}
