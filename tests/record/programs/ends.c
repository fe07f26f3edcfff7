// Ends as it is told: `ends segv|null|nowhere|fpe|ill|trap|abort|kill|term|thread|left|
// left_exit|crowd|newborn SIGNAL|exit [STATUS]`.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void write_to(volatile int* place) {
  for (volatile int i = 0; i < 10; ++i) {
  }
  *place = 1;  // at_fault
}

static void* in_thread(void* unused) {
  write_to((volatile int*)8);
  return unused;
}

static void* exits_late(void* unused) {
  usleep(100000);
  exit(5);
  return unused;
}

static pthread_barrier_t all_there;

static void* counts_on(void* unused) {
  pthread_barrier_wait(&all_there);
  for (volatile unsigned long count = 0;; ++count) {
  }
  return unused;
}

static void* reads_on(void* pipe_end) {
  char byte;
  pthread_barrier_wait(&all_there);
  return read(*(int*)pipe_end, &byte, 1) == 1 ? pipe_end : NULL;
}

// Among threads that are at work, and in a system call.
static void fault_in_crowd(void) {
  pthread_t thread;
  int ends[2];
  if (pipe(ends) != 0 || pthread_barrier_init(&all_there, NULL, 3) != 0) return;
  pthread_create(&thread, NULL, counts_on, NULL);
  pthread_create(&thread, NULL, reads_on, &ends[0]);
  pthread_barrier_wait(&all_there);
  usleep(10000);
  write_to((volatile int*)8);
}

// The first thread ends, most likely before the second has begun; the process goes on.
static void leave(void* (*second)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, second, NULL) == 0) syscall(SYS_exit, 0);
}

// Ends children by a signal that comes before they have run a single instruction. 0: all have
// ended.
static int end_newborn(int number) {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    kill(child, number);
    int tries = 3000;
    while (waitpid(child, NULL, WNOHANG) == 0) {
      if (--tries == 0) {
        kill(child, SIGKILL);
        return 1;
      }
      usleep(10000);
    }
  }
  return 0;
}

// A system call of 32 bits, which 64-bit programs can make, too.
static long by_interrupt(long number, long argument) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory");
  return result;
}

static void fork_and_exit_by_interrupt(void) {
  int status = 0;
  if (by_interrupt(2, 0) == 0) by_interrupt(1, 3);
  wait(&status);
  by_interrupt(252, WEXITSTATUS(status) + 4);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  if (strcmp(how, "null") == 0) ((void (*volatile)(void))0)();
  if (strcmp(how, "nowhere") == 0) {
    __asm__ volatile("pushq %0\n at_return: ret" ::"r"(0x4141414141414141));
  }
  if (strcmp(how, "left") == 0) leave(in_thread);
  if (strcmp(how, "left_exit") == 0) leave(exits_late);
  if (strcmp(how, "crowd") == 0) fault_in_crowd();
  if (strcmp(how, "segv") == 0) write_to((volatile int*)8);
  if (strcmp(how, "fpe") == 0) {
    volatile int zero = 0;
    return 1000 / zero;
  }
  if (strcmp(how, "ill") == 0) __builtin_trap();
  if (strcmp(how, "trap") == 0) __asm__ volatile("int3");
  // From a frame that is not there.
  if (strcmp(how, "sigreturn") == 0) {
    __asm__ volatile("movl $8, %esp; movl $15, %eax; syscall");
  }
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "term") == 0) kill(getpid(), SIGTERM);
  if (strcmp(how, "interrupt") == 0) fork_and_exit_by_interrupt();
  if (strcmp(how, "newborn") == 0) return end_newborn(atoi(argv[2]));
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
  }
  return argc > 2 ? atoi(argv[2]) : 0;
}
