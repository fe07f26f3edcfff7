// Threads of every kind that attaching may find: each says at the end whether its system calls came
// back as they do when nothing interferes. Prints "ready", then waits for the end of its input.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int over;
static int pipe_to_reader[2], pipe_to_keeper[2], wake;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned long counted;  // under the mutex
static atomic_ulong ticks, computed;
static atomic_int wrong;

static void check(int right, const char* what) {
  if (right) return;
  atomic_store(&wrong, 1);
  printf("wrong: %s, errno %d\n", what, errno);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned mixed(unsigned count) {
  unsigned value = 1;
  for (unsigned i = 0; i < count; ++i) value = value & 1 ? value * 3 + i : value / 2 + (i << 9);
  return value;
}

static void* computes(void* unused) {
  const unsigned expected = mixed(2000);
  while (!atomic_load(&over)) {
    check(mixed(2000) == expected, "a computation");
    atomic_fetch_add(&computed, 1);
    usleep(2000);
  }
  return unused;
}

static void* reads(void* unused) {
  char byte = 0;
  check(read(pipe_to_reader[0], &byte, 1) == 1 && byte == 'x', "read");
  return unused;
}

static void* waits(void* unused) {
  pthread_mutex_lock(&mutex);
  while (!atomic_load(&over)) {
    check(pthread_cond_wait(&condition, &mutex) == 0, "pthread_cond_wait");
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void* waits_for_events(void* unused) {
  struct epoll_event event = {.events = EPOLLIN};
  const int epoll = epoll_create1(0);
  epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event);
  check(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
  close(epoll);
  struct pollfd polled = {.fd = wake, .events = POLLIN};
  check(poll(&polled, 1, -1) == 1, "poll");
  return unused;
}

static void* sleeps(void* unused) {
  while (!atomic_load(&over)) {
    const struct timespec time = {.tv_nsec = 150000000};
    const double begin = now();
    check(nanosleep(&time, NULL) == 0, "nanosleep");
    check(now() - begin >= 0.15, "nanosleep was too short");
    check(poll(NULL, 0, 30) == 0, "poll with a time-out");
  }
  return unused;
}

// The signal of the end is its own.
static void* waits_for_a_signal(void* unused) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  check(sigwaitinfo(&set, NULL) == SIGUSR2, "sigwaitinfo");
  return unused;
}

// Signals as instructions raise them, that somebody has sent and the thread blocks.
static void* keeps_faults(void* unused) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  sigaddset(&set, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_kill(pthread_self(), SIGTRAP);
  pthread_kill(pthread_self(), SIGSEGV);
  char byte = 0;
  check(read(pipe_to_keeper[0], &byte, 1) == 1 && byte == 'y', "read under signals");
  for (int i = 0; i < 2; ++i) {
    const struct timespec soon = {0};
    check(sigtimedwait(&set, NULL, &soon) > 0, "a signal is kept");
  }
  return unused;
}

static void usr1(int number) { (void)number; }

// And this one's calls end with EINTR by it, which a handler does to them.
static void* pauses(void* unused) {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGUSR1);
  check(sigsuspend(&set) == -1 && errno == EINTR, "sigsuspend");
  check(pause() == -1 && errno == EINTR, "pause");
  return unused;
}

static void* counts(void* unused) {
  while (!atomic_load(&over)) {
    pthread_mutex_lock(&mutex);
    const unsigned long before = counted;
    for (volatile int i = 0; i < 50; ++i) continue;
    counted = before + 1;
    pthread_mutex_unlock(&mutex);
    usleep(500);
  }
  return unused;
}

static void* ends_at_once(void* number) { return (void*)((uintptr_t)number + 1); }

static void* makes_threads(void* unused) {
  for (uintptr_t i = 0; !atomic_load(&over); ++i) {
    pthread_t thread;
    void* got = NULL;
    check(pthread_create(&thread, NULL, ends_at_once, (void*)i) == 0, "pthread_create");
    pthread_join(thread, &got);
    check((uintptr_t)got == i + 1, "a thread's result");
    usleep(5000);
  }
  return unused;
}

static void* makes_processes(void* unused) {
  while (!atomic_load(&over)) {
    const pid_t child = fork();
    if (child == 0) _exit(mixed(100) == 0 ? 1 : 42);
    int status = 0;
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 42, "a child");
    usleep(20000);
  }
  return unused;
}

// On its alternate stack, and most of its time.
static void tick(int number, siginfo_t* info, void* context) {
  (void)context;
  check(number == SIGALRM && info->si_signo == SIGALRM, "a handler's arguments");
  check(mixed(500) == mixed(500), "a computation in a handler");
  atomic_fetch_add(&ticks, 1);
}

static char alternate[1 << 16];

static void* handles(void* unused) {
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
  sigaltstack(&stack, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  while (!atomic_load(&over)) {
    check(mixed(1000) == mixed(1000), "a computation under signals");
    usleep(300);
  }
  stack_t found;
  sigaltstack(NULL, &found);
  check(found.ss_sp == stack.ss_sp && found.ss_size == stack.ss_size && found.ss_flags == 0,
        "the alternate stack");
  return unused;
}

static void* (*const kinds[])(void*) = {
    computes, reads,  waits,         waits_for_events, sleeps,  waits_for_a_signal,
    pauses,   counts, makes_threads, makes_processes,  handles, keeps_faults};
enum { kKinds = sizeof(kinds) / sizeof(kinds[0]), kPauses = 6, kWaitsForASignal = 5 };

static void check_signals(void) {
  struct sigaction action;
  sigaction(SIGALRM, NULL, &action);
  check(action.sa_sigaction == tick && (action.sa_flags & SA_ONSTACK) != 0, "SIGALRM's action");
  sigaction(SIGTRAP, NULL, &action);
  check(action.sa_handler == SIG_IGN, "SIGTRAP's action");
  sigaction(SIGSEGV, NULL, &action);
  check(action.sa_handler == SIG_DFL, "SIGSEGV's action");
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  check(sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGSEGV) == 1 &&
            sigismember(&mask, SIGUSR1) == 0,
        "what is blocked");
  check(sched_getcpu() >= 0, "sched_getcpu");
}

int main(void) {
  if (pipe(pipe_to_reader) != 0 || pipe(pipe_to_keeper) != 0) return 1;
  wake = eventfd(0, 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigaddset(&set, SIGSEGV);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  struct sigaction action = {.sa_sigaction = tick,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  signal(SIGTRAP, SIG_IGN);
  struct sigaction noted = {.sa_handler = usr1};
  sigaction(SIGUSR1, &noted, NULL);
  pthread_t threads[kKinds];
  for (int i = 0; i < kKinds; ++i) pthread_create(&threads[i], NULL, kinds[i], NULL);
  const struct itimerval every = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};
  setitimer(ITIMER_REAL, &every, NULL);
  puts("ready");
  fflush(stdout);

  char text[64];
  ssize_t got = 0;
  while ((got = read(0, text, sizeof(text))) > 0) {
    // A line is answered once everybody has got on.
    const unsigned long before = atomic_load(&computed), then = atomic_load(&ticks);
    while (atomic_load(&computed) < before + 5 || atomic_load(&ticks) < then + 5) usleep(1000);
    puts("goes on");
    fflush(stdout);
  }
  check(got == 0, "read of the standard input");
  const struct itimerval none = {};
  setitimer(ITIMER_REAL, &none, NULL);
  atomic_store(&over, 1);
  check_signals();
  check(write(pipe_to_reader[1], "x", 1) == 1, "write");
  check(write(pipe_to_keeper[1], "y", 1) == 1, "write");
  const uint64_t two = 2;
  check(write(wake, &two, sizeof(two)) == sizeof(two), "write to an eventfd");
  pthread_kill(threads[kPauses], SIGUSR1);
  usleep(200000);
  pthread_kill(threads[kPauses], SIGUSR1);
  pthread_kill(threads[kWaitsForASignal], SIGUSR2);
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < kKinds; ++i) pthread_join(threads[i], NULL);
  puts(atomic_load(&wrong) ? "something was wrong" : "all as ever");
  return 3;
}
