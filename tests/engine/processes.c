// Threads, processes, and how processes end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static __thread long own;

static void* add(void* value) {
  for (int i = 0; i < 20000; ++i) {
    pthread_mutex_lock(&mutex);
    sum += (long)value;
    pthread_mutex_unlock(&mutex);
    own += 2;
  }
  return (void*)own;
}

static void* short_one(void* unused) { return unused; }

static int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status & ~0x80;  // without "core dumped"
}

static void* fork_in_thread(void* unused) {
  const pid_t pid = fork();
  if (pid == 0) _exit(11);
  return (void*)(long)wait_for(pid);
}

// What is left of signals behind execve.
static int say_signals(void) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int number = 1; number < 64; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) printf("signal %d is ignored\n", number);
    if (sigismember(&blocked, number)) printf("signal %d is blocked\n", number);
  }
  return 0;
}
static void hand_on_signals(void) {
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGSEGV);
  sigaddset(&some, SIGUSR1);
  sigaddset(&some, SIGTRAP);
  sigprocmask(SIG_SETMASK, &some, NULL);
  signal(SIGFPE, SIG_IGN);
  signal(SIGSYS, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  execl("/nonexistent", "", (char*)NULL);  // and one that fails
  execl("/proc/self/exe", "", "say", (char*)NULL);
  _exit(9);
}

// Nobody is left behind the call, whichever thread the signal comes to.
static void* end_all(void* unused) {
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGTERM);
  kill(getpid(), SIGTERM);
  siginfo_t info;
  sigtimedwait(&waited, &info, &(struct timespec){.tv_sec = 1});
  printf("it went on\n");
  return unused;
}
static void end_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &end_all, NULL);
  pthread_join(thread, NULL);
  _exit(9);
}

int main(int argc, char** argv) {
  if (argc > 1) return say_signals();
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_t threads[8];
  for (long i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, &add, (void*)i);
  long owned = 0;
  for (int i = 0; i < 8; ++i) {
    void* one = NULL;
    pthread_join(threads[i], &one);
    owned += (long)one;
  }
  printf("threads: %ld %ld\n", sum, owned);
  for (int i = 0; i < 300; ++i) {
    pthread_create(&threads[0], NULL, &short_one, NULL);
    pthread_join(threads[0], NULL);
  }
  void* status = NULL;
  pthread_create(&threads[0], NULL, &fork_in_thread, NULL);
  pthread_join(threads[0], &status);
  printf("fork in a thread: %lx\n", (long)status);
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(i);
    if (wait_for(pid) != i << 8) printf("fork %d failed\n", i);
  }

  char* echo[] = {"/bin/echo", "spawned", NULL};
  char* missing[] = {"/nonexistent", NULL};
  pid_t pid = 0;
  const int spawned = posix_spawn(&pid, echo[0], NULL, NULL, echo, NULL);
  wait_for(pid);
  printf("posix_spawn: %d\n", spawned);
  printf("of nothing: %d\n", posix_spawn(&pid, missing[0], NULL, NULL, missing, NULL) == ENOENT);
  if ((pid = vfork()) == 0) {
    execl("/bin/echo", "echo", "vforked", (char*)NULL);
    _exit(9);
  }
  printf("vfork: %x\n", wait_for(pid));
  printf("system: %x\n", system("exit 5"));
  char line[64] = "";
  FILE* other = popen("echo popen", "r");
  if (fgets(line, sizeof line, other) == NULL) return 1;
  printf("%s%d\n", line, pclose(other));

  for (int number = 1; number < 64; ++number) {
    if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU ||
        number == 32 || number == 33) {
      continue;
    }
    if ((pid = fork()) == 0) {
      signal(number, SIG_DFL);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, NULL);
      raise(number);
      _exit(3);
    }
    printf("signal %d: %x\n", number, wait_for(pid));
  }
  if ((pid = fork()) == 0) *(volatile int*)NULL = 1;
  printf("null: %x\n", wait_for(pid));
  if ((pid = fork()) == 0) {
    signal(SIGSEGV, SIG_IGN);
    *(volatile int*)NULL = 1;
  }
  printf("null, ignored: %x\n", wait_for(pid));
  if ((pid = fork()) == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    *(volatile int*)NULL = 1;
  }
  printf("null, blocked: %x\n", wait_for(pid));
  if ((pid = fork()) == 0) abort();
  printf("abort: %x\n", wait_for(pid));
  if ((pid = fork()) == 0) hand_on_signals();
  printf("handed on: %x\n", wait_for(pid));
  for (int i = 0; i < 20; ++i) {
    if ((pid = fork()) == 0) end_in_thread();
    if (wait_for(pid) != SIGTERM) printf("end %d failed\n", i);
  }
  if ((pid = fork()) == 0) {  // the first thread ends before the others
    pthread_create(&threads[0], NULL, &add, (void*)1);
    pthread_exit(NULL);
  }
  printf("pthread_exit: %x\n", wait_for(pid));
  return 7;
}
