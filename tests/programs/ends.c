// The ways a program ends other than by returning from main; argv[1] chooses.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int spin_count;
static volatile int stop;

static void* exit_from_thread(void* argument) { _exit(*(int*)argument); }

static void* spin(void* argument) {
  while (!stop) ++spin_count;  // a branch that a trace shows; a bare jump in a circle leaves none
  return argument;
}

static void* leave_main_alone(void* argument) {
  usleep(2000);
  return argument;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  static int status = 7;
  pthread_t thread;
  if (strcmp(how, "segv") == 0) *(volatile int*)16 = 1;
  if (strcmp(how, "fetch") == 0) ((void (*volatile)(void))16)();
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "trap") == 0) __builtin_trap();
  if (strcmp(how, "thread-exit") == 0) {
    pthread_create(&thread, NULL, exit_from_thread, &status);
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "spinning-thread") == 0) {
    pthread_create(&thread, NULL, spin, NULL);
    while (spin_count < 1000) {
    }
    _exit(status);
  }
  if (strcmp(how, "main-first") == 0) {
    pthread_create(&thread, NULL, leave_main_alone, NULL);
    pthread_exit(NULL);
  }
  fprintf(stderr, "usage: %s segv|fetch|abort|kill|trap|thread-exit|spinning-thread|main-first\n",
          argv[0]);
  return 2;
}
