// When signals come, how often, on which stack, with which mask, what they interrupt.
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long ticks;
static void tick(int number) { ++ticks; }

static int compare(const void* a, const void* b) {
  return *(const unsigned char*)a - *(const unsigned char*)b;
}

// Calls, returns, indirect calls, floating point and string instructions, while a timer runs.
static unsigned long work(void) {
  static unsigned char bytes[4096];
  unsigned long hash = 7;
  double sum = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 4096; ++i) {
      hash = hash * 6364136223846793005ul + 1;
      bytes[i] = (unsigned char)(hash >> 33);
    }
    qsort(bytes, sizeof bytes, 1, &compare);
    for (int i = 0; i < 4096; i += 7) hash ^= bytes[i];
    for (int i = 1; i < 5000; ++i) sum += 1.0 / i;
  }
  return hash ^ (unsigned long)(sum * 1e6);
}

static void set(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}
static void alarm_in(long us) {
  struct itimerval once = {{0, 0}, {0, us}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void describe(int number, siginfo_t* info, void* context) {
  printf("signal %d code %d value %d\n", number, info->si_code, info->si_value.sival_int);
}
static void inner(int number) { printf("inner\n"); }
static void outer(int number) {
  printf("outer begins\n");
  raise(SIGUSR2);
  printf("outer ends\n");
}
static void masked(int number) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("in the handler:");
  for (int i = 1; i < 32; ++i) {
    if (sigismember(&now, i)) printf(" %d", i);
  }
  printf("\n");
}
static void rounds_up(int number) {
  if (fegetround() != FE_TONEAREST) printf("the handler has the program's rounding\n");
  fesetround(FE_UPWARD);
}
static void* sleeper(void* unused) {
  for (;;) usleep(1000);
}

static void send_later(int number) {
  if (fork() != 0) return;
  usleep(30000);
  kill(getppid(), number);
  _exit(0);
}

// A string instruction of which one repetition after another is interrupted.
static void fill_slowly(void) {
  const size_t bytes = 96 << 20;
  char* const memory = malloc(bytes);
  void* to = memory;
  size_t left = bytes;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(7) : "memory");
  printf("%d %zu\n", memory[bytes - 1], left);
  free(memory);
}

// Signals that come while the mask is being changed: it is what the program set, and they go on
// coming.
static void change_masks(void) {
  sigset_t all, old, now;
  sigfillset(&all);
  const unsigned long enough = ticks + 300;
  const time_t end = time(NULL) + 20;
  while (ticks < enough && time(NULL) < end) {
    for (int i = 0; i < 1000; ++i) {
      sigprocmask(SIG_BLOCK, &all, &old);
      sigprocmask(SIG_SETMASK, &old, NULL);
    }
  }
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("%s, blocked: %d\n", ticks < enough ? "signals got lost" : "signals kept coming",
         sigismember(&now, SIGALRM));
}

// The kernel says of a signal that comes from elsewhere the trap that the thread raised last.
static void sent_behind_a_trap(void) {
  set(SIGTRAP, &tick, 0);
  __asm__ volatile("int3");
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTRAP};
  const struct itimerspec often = {{0, 200000}, {0, 200000}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const unsigned long before = ticks;
  timer_settime(timer, 0, &often, NULL);
  const unsigned long result = work();
  timer_delete(timer);
  set(SIGTRAP, SIG_DFL, 0);
  printf("%lx, %s\n", result, ticks > before + 5 ? "trapped" : "hardly trapped");
}

static void faulted(int number, siginfo_t* info, void* context) {
  printf("fault %d, code %d, at %p\n", number, info->si_code, info->si_addr);
}

// What a thread sends itself and says that it is a fault's.
static void send_fault(int number, int code) {
  siginfo_t info = {.si_signo = number, .si_code = code, .si_addr = (void*)0x1234};
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, &info) != 0) printf("refused\n");
}

// Handled, ignored; and the end of a process.
static void sent_as_faults(void) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  struct sigaction handled = {.sa_sigaction = &faulted, .sa_flags = SA_SIGINFO};
  for (int i = 0; i < 6; ++i) {
    for (int code = 1; code < 4; ++code) {
      sigaction(faults[i], &handled, NULL);
      send_fault(faults[i], code);
      set(faults[i], SIG_IGN, 0);
      send_fault(faults[i], code);
      set(faults[i], SIG_DFL, 0);
      int status = 0;
      if (fork() == 0) {
        send_fault(faults[i], code);
        _exit(0);
      }
      wait(&status);
      printf("%d ends it: %d\n", faults[i], WIFSIGNALED(status) && WTERMSIG(status) == faults[i]);
    }
  }
}

static volatile int came;
static void note(int number) { came = came * 10 + 1; }

// Faults that are only sent wait as long as they are blocked, once each, wherever that ends.
static void sent_while_blocked(void) {
  sigset_t fault, none, pending;
  sigemptyset(&none);
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  sigaddset(&fault, SIGFPE);
  set(SIGSEGV, &note, 0);
  sigprocmask(SIG_BLOCK, &fault, NULL);
  raise(SIGSEGV);
  raise(SIGSEGV);
  printf("while it is blocked: %d", came);
  sigpending(&pending);
  printf(", pending: %d %d", sigismember(&pending, SIGSEGV), sigismember(&pending, SIGFPE));
  sigprocmask(SIG_UNBLOCK, &fault, NULL);
  printf(", then: %d", came);
  came = 0;

  sigprocmask(SIG_BLOCK, &fault, NULL);
  raise(SIGFPE);
  raise(SIGSEGV);
  set(SIGSEGV, SIG_IGN, 0);
  set(SIGSEGV, &note, 0);
  sigpending(&pending);
  printf(", ignored: %d %d", sigismember(&pending, SIGSEGV), sigismember(&pending, SIGFPE));
  set(SIGFPE, SIG_IGN, 0);
  set(SIGFPE, SIG_DFL, 0);

  if (fork() == 0) {
    usleep(20000);
    kill(getppid(), SIGSEGV);
    _exit(0);
  }
  printf(", poll: %d", poll(NULL, 0, 300));
  wait(NULL);
  sigprocmask(SIG_UNBLOCK, &fault, NULL);
  printf(", then: %d", came);
  came = 0;
  sigprocmask(SIG_BLOCK, &fault, NULL);
  raise(SIGSEGV);
  printf(", in sigsuspend: %d", sigsuspend(&none));
  printf(" %d", came);
  raise(SIGSEGV);
  const struct timespec now = {0, 0};
  printf(", by sigtimedwait: %d", sigtimedwait(&fault, NULL, &now) == SIGSEGV);
  raise(SIGSEGV);
  sigset_t old;
  set(SIGUSR1, &note, 0);
  raise(SIGUSR1);  // a return from a handler lets through what was not blocked before it only
  printf(", behind a handler: %d", came);
  set(SIGSEGV, SIG_IGN, 0);
  sigprocmask(SIG_SETMASK, &none, &old);
  printf(", ignored: %d\n", came);
  set(SIGSEGV, SIG_DFL, 0);
}

static void refused(int number, siginfo_t* info, void* context) {
  printf("no frame: signal %d code %d\n", number, info->si_code);
}

// The handler's stack cannot be written, which is a fault of its own.
static void on_a_stack_that_is_read_only(void) {
  const size_t bytes = 1 << 16;
  void* memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t stack = {.ss_sp = memory, .ss_size = bytes};
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&stack, NULL);
  struct sigaction fault = {.sa_sigaction = &refused, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &fault, NULL);
  set(SIGUSR1, &inner, SA_ONSTACK);
  raise(SIGUSR1);
  printf("goes on\n");
  if (fork() == 0) {
    set(SIGSEGV, SIG_DFL, 0);
    raise(SIGUSR1);
    _exit(0);
  }
  int status = 0;
  wait(&status);
  printf("ended by signal %d\n", WTERMSIG(status));
  sigaltstack(&none, NULL);
  munmap(memory, bytes);
}

static void begins_and_ends(int number) {
  printf("%d begins\n", number);
  masked(number);
  if (number == SIGUSR1) raise(SIGUSR2);
  printf("%d ends\n", number);
}

// The call lets a signal through that waits, and blocks another one until the handler is done.
static void masks_of_calls(void) {
  sigset_t first, second, old;
  sigemptyset(&first);
  sigaddset(&first, SIGUSR1);
  sigemptyset(&second);
  sigaddset(&second, SIGUSR2);
  sigprocmask(SIG_UNBLOCK, &second, NULL);
  set(SIGUSR1, &begins_and_ends, 0);
  set(SIGUSR2, &begins_and_ends, 0);
  const struct timespec long_time = {20, 0};
  struct epoll_event event;
  const int epoll = epoll_create1(0);
  for (int call = 0; call < 4; ++call) {
    sigprocmask(SIG_BLOCK, &first, &old);
    raise(SIGUSR1);
    int result = 0;
    if (call == 0) result = sigsuspend(&second);
    if (call == 1) result = ppoll(NULL, 0, &long_time, &second);
    if (call == 2) result = pselect(0, NULL, NULL, NULL, &long_time, &second);
    if (call == 3) result = epoll_pwait(epoll, &event, 1, 20000, &second);
    printf("call %d: %d %d\n", call, result, errno == EINTR);
    sigprocmask(SIG_SETMASK, &old, NULL);
  }
  close(epoll);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  set(SIGALRM, &tick, SA_RESTART);
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  const unsigned long result = work();
  change_masks();
  fill_slowly();
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%lx, %s\n", result, ticks > 5 ? "interrupted" : "hardly interrupted");

  struct sigaction described = {.sa_sigaction = &describe, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &described, NULL);
  sigaction(SIGRTMIN + 3, &described, NULL);
  union sigval value = {.sival_int = 42};
  sigqueue(getpid(), SIGUSR1, value);
  sigset_t queued, none, usr2;
  sigemptyset(&none);
  sigemptyset(&queued);
  sigaddset(&queued, SIGRTMIN + 3);
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  sigprocmask(SIG_BLOCK, &queued, NULL);
  for (value.sival_int = 0; value.sival_int < 3; ++value.sival_int)
    sigqueue(getpid(), SIGRTMIN + 3, value);
  printf("three wait\n");
  sigprocmask(SIG_UNBLOCK, &queued, NULL);

  set(SIGUSR1, &outer, 0);
  set(SIGUSR2, &inner, 0);
  raise(SIGUSR1);
  struct sigaction blocking = {.sa_handler = &masked};
  sigfillset(&blocking.sa_mask);
  sigaction(SIGUSR1, &blocking, NULL);
  raise(SIGUSR1);
  set(SIGUSR1, &masked, 0);
  raise(SIGUSR1);
  set(SIGUSR1, &masked, SA_NODEFER);
  raise(SIGUSR1);
  sigset_t fault, old;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  sigprocmask(SIG_BLOCK, &fault, NULL);
  sigprocmask(SIG_UNBLOCK, &fault, &old);
  printf("blocked faults are told: %d\n", sigismember(&old, SIGSEGV));

  sent_while_blocked();

  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return 1;
  set(SIGALRM, &tick, 0);
  alarm_in(20000);
  ssize_t got = read(ends[0], &byte, 1);
  printf("read: %s\n", got < 0 && errno == EINTR ? "interrupted" : "?");
  set(SIGALRM, &tick, SA_RESTART);
  alarm_in(20000);
  if (fork() == 0) {
    usleep(60000);
    _exit(write(ends[1], "x", 1) != 1);
  }
  got = read(ends[0], &byte, 1);
  printf("read, restarted: %zd %c\n", got, byte);
  wait(NULL);

  sigprocmask(SIG_BLOCK, &usr2, NULL);
  send_later(SIGUSR2);
  printf("sigsuspend: %d\n", sigsuspend(&none));
  wait(NULL);
  const struct timespec long_time = {20, 0};
  send_later(SIGUSR2);
  printf("sigtimedwait: %d\n", sigtimedwait(&usr2, NULL, &long_time) == SIGUSR2);
  wait(NULL);

  set(SIGUSR1, &rounds_up, 0);
  fesetround(FE_DOWNWARD);
  raise(SIGUSR1);
  printf("rounding is kept: %d\n", fegetround() == FE_DOWNWARD);

  pthread_t thread;
  pthread_create(&thread, NULL, &sleeper, NULL);
  usleep(5000);
  pthread_cancel(thread);
  void* end = NULL;
  pthread_join(thread, &end);
  printf("canceled: %d\n", end == PTHREAD_CANCELED);

  sent_behind_a_trap();
  sent_as_faults();

  struct sigaction seen;
  set(SIGUSR1, &inner, SA_RESETHAND);
  raise(SIGUSR1);
  sigaction(SIGUSR1, NULL, &seen);
  printf("reset: %d %x\n", seen.sa_handler == SIG_DFL, (unsigned)seen.sa_flags);
  on_a_stack_that_is_read_only();
  masks_of_calls();
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
  printf("ignored\n");
  return 5;
}
