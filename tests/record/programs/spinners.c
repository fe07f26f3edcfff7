// spinners HOW: three threads run without system calls when the process ends.
//   exit     exit_group by the first thread, status 7
//   return   by the last of them that is told to, status 7
//   abort    by a signal
//   child    as exit, behind a child that has shared the memory and has ended
//   wait     not at all: prints "ready" and its process number
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned long counters[3];
static volatile int ends;

static void* spin(void* own) {
  volatile unsigned long* counter = own;
  for (;;) {
    ++*counter;
    if (ends && counter == &counters[0]) _exit(7);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[3];
  const char* how = argc > 1 ? argv[1] : "exit";
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, spin, (void*)&counters[i]);
  for (int i = 0; i < 3; ++i) {
    while (counters[i] < 1000) usleep(100);
  }
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "child") == 0) {
    if (vfork() == 0) _exit(0);
    _exit(7);
  }
  if (strcmp(how, "return") == 0) ends = 1;
  if (strcmp(how, "wait") == 0) {
    printf("ready\n%d\n", (int)getpid());
    fflush(stdout);
  }
  if (strcmp(how, "exit") != 0) pause();
  return 7;
}
