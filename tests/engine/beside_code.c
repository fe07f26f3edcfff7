// Words that the kernel writes as processes and threads begin and end, on pages that code ran on;
// and code that a child of fork does not have, or has empty (MADV_DONTFORK, MADV_WIPEONFORK). Each
// in a child of its own; prints what came of it.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kWords = 64 };

static void put_code(unsigned char* at, unsigned char result) {
  memcpy(at, "\xb8\x00\x00\x00\x00\xc3", 6);  // mov eax, result; ret
  at[1] = result;
}

static unsigned char* make_code(void) {
  unsigned char* code =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  put_code(code, 1);
  return code;
}

static int run(void* code) { return ((int (*)(void))code)(); }

static void tell_end(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  printf("ended %x\n", status);
}

static void words_of_clone3(void) {
  unsigned char* code = make_code();
  int* words = (int*)(code + kWords);
  struct clone_args args = {.flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
                            .pidfd = (unsigned long)&words[0],
                            .child_tid = (unsigned long)&words[1],
                            .parent_tid = (unsigned long)&words[2],
                            .exit_signal = SIGCHLD};
  printf("%d ", run(code));
  fflush(stdout);
  long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) {
    printf("child %d\n", words[1] == getpid());
    fflush(stdout);
    _exit(0);
  }
  tell_end((pid_t)pid);
  printf("%d %d\n", words[0] > 0, words[2] == pid);
}

static int runs_code(void* code) { return run(code); }

static void word_of_a_thread_that_ends(void) {
  unsigned char* code = make_code();
  pid_t* word = (pid_t*)(code + kWords);
  char* stack = malloc(65536);
  const int thread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  *word = 1;
  clone(runs_code, stack + 65536, thread | CLONE_CHILD_CLEARTID, code, NULL, NULL, word);
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != 0)
    syscall(SYS_futex, word, FUTEX_WAIT, 1, 0, 0, 0);
  printf("%d\n", run(code));
}

static unsigned char* beside;
static void* dies_with_it(void* mutex) {
  pthread_mutex_lock(mutex);
  run(beside);
  return NULL;
}

static void mutex_of_a_thread_that_ends(void) {
  beside = make_code();
  pthread_mutex_t* mutex = (pthread_mutex_t*)(beside + kWords);
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &robust);
  pthread_t thread;
  pthread_create(&thread, NULL, dies_with_it, mutex);
  pthread_join(thread, NULL);
  printf("%d\n", pthread_mutex_lock(mutex) == EOWNERDEAD);
}

static void runs_in_a_child(int advice, int fills) {
  unsigned char* code = make_code();
  printf("%d %d ", run(code), madvise(code, kPage, advice));
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    if (fills && advice == MADV_DONTFORK) {
      mmap(code, kPage, PROT_READ | PROT_WRITE | PROT_EXEC,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    if (fills) put_code(code, 5);
    printf("child %d\n", run(code));
    fflush(stdout);
    _exit(0);
  }
  tell_end(pid);
  printf("%d\n", run(code));
}

static void not_there(void) { runs_in_a_child(MADV_DONTFORK, 0); }
static void another_there(void) { runs_in_a_child(MADV_DONTFORK, 1); }
static void emptied(void) { runs_in_a_child(MADV_WIPEONFORK, 0); }
static void filled_again(void) { runs_in_a_child(MADV_WIPEONFORK, 1); }

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {
#define CASE(name) {#name, name}
    CASE(words_of_clone3),
    CASE(word_of_a_thread_that_ends),
    CASE(mutex_of_a_thread_that_ends),
    CASE(not_there),
    CASE(another_there),
    CASE(emptied),
    CASE(filled_again),
};

int main(void) {
  for (unsigned i = 0; i < sizeof kCases / sizeof *kCases; i++) {
    printf("%s: ", kCases[i].name);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
      alarm(30);  // a mutex or a thread that is waited for forever
      kCases[i].run();
      fflush(stdout);
      _exit(0);
    }
    tell_end(pid);
  }
  return 0;
}
