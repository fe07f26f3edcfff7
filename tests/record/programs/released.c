// A debugger of its own child, which goes one step before it is traced, one while it is, and one
// afterwards: released HOW TIMES [recorded]. With `recorded` it is given time until the engine is
// back in it. `itself`: of children that ask for it themselves.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 20, kMostThreads = kThreads + 2 };

static volatile int steps;
__attribute__((noinline)) static void before(void) { ++steps; }
__attribute__((noinline)) static void meanwhile(void) { ++steps; }
__attribute__((noinline)) static void afterwards(void) { ++steps; }

static int ends[2][2];  // to the child, and back
static const char* how;
static int is(const char* name) { return strcmp(how, name) == 0; }

// --- the child ---

static volatile char step;
static pthread_barrier_t barrier;

static void go(void) {
  if (step == 'b') before();
  if (step == 'm') meanwhile();
  if (step == 'a') afterwards();
}

static void* walk(void* unused) {
  (void)unused;
  for (;;) {
    pthread_barrier_wait(&barrier);
    go();
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static int child(void) {
  const int threads = is("threads") ? kThreads : 0;
  pthread_barrier_init(&barrier, NULL, threads + 1);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, &walk, NULL);
  }
  char asked;
  while (read(ends[0][0], &asked, 1) == 1) {
    if (asked == 'x') {
      char fds[2][16];
      snprintf(fds[0], sizeof(fds[0]), "%d", ends[0][0]);
      snprintf(fds[1], sizeof(fds[1]), "%d", ends[1][1]);
      execl("/proc/self/exe", "released", how, fds[0], fds[1], "child", NULL);
    }
    step = asked;
    pthread_barrier_wait(&barrier);
    go();
    pthread_barrier_wait(&barrier);
    if (write(ends[1][1], &asked, 1) != 1) break;
  }
  return 7;
}

// --- who traces it ---

static void let_step(char which) {
  char done = 0;
  if (write(ends[0][1], &which, 1) != 1 || read(ends[1][0], &done, 1) != 1 || done != which) {
    printf("no step %c\n", which);
  }
}

static int threads_of(pid_t pid, pid_t* tids) {
  int count = 0;
  char path[64];
  for (pid_t tid = pid; count < kMostThreads && tid < pid + 2 * kMostThreads; ++tid) {
    snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
    if (access(path, F_OK) == 0) tids[count++] = tid;
  }
  return count;
}

static void trace(pid_t pid) {
  pid_t tids[kMostThreads];
  const int count = threads_of(pid, tids);
  if (is("stopped")) {
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0) perror("attach");
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
  } else {
    for (int i = 0; i < count; ++i) {
      if (ptrace(PTRACE_SEIZE, tids[i], NULL, PTRACE_O_TRACEEXEC) != 0) perror("seize");
    }
  }
  if (is("executes")) {
    const char execute = 'x';
    if (write(ends[0][1], &execute, 1) != 1) return;
    int status = 0;
    waitpid(pid, &status, __WALL);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
  }
  let_step('m');
  if (is("killed")) raise(SIGKILL);
  if (is("dies")) {
    kill(pid, SIGKILL);
    return;
  }
  if (is("stopped")) {
    kill(pid, SIGSTOP);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP);
    return;
  }
  for (int i = 0; i < count; ++i) {
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL);
    waitpid(tids[i], &status, __WALL);
    ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
  }
}

static int engine_is_in(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof(path), "/proc/%d/maps", pid);
  FILE* maps = fopen(path, "r");
  int found = 0;
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    found |= strncmp(line, "7ef00000-", 9) == 0;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

static void end(int signal) { _exit(signal); }
static void led_elsewhere(void) { *(volatile int*)16 = 0; }

// Each is led by its registers to what it has a handler for. Before that there is much to record.
static void trace_child(void) {
  for (unsigned i = 0, random = 1; i < 200000; ++i) {
    random = random * 1664525 + 1013904223;
    if (random >> 31) before();
  }
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    signal(SIGSEGV, &end);
    raise(SIGSTOP);
    _exit(6);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  struct user_regs_struct registers;
  ptrace(PTRACE_GETREGS, pid, NULL, &registers);
  registers.rip = (unsigned long)&led_elsewhere;
  registers.rsp = registers.rsp / 16 * 16 - 200;
  ptrace(PTRACE_SETREGS, pid, NULL, &registers);
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  waitpid(pid, &status, 0);
  ptrace(PTRACE_CONT, pid, NULL, SIGSEGV);
  waitpid(pid, &status, 0);
  printf("ended: %x\n", status);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  how = argv[1];
  if (is("itself")) {
    for (int i = atoi(argv[2]); i > 0; --i) trace_child();
    return 0;
  }
  if (argc == 5) {
    ends[0][0] = atoi(argv[2]);
    ends[1][1] = atoi(argv[3]);
    return child();
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (pipe(ends[0]) != 0 || pipe(ends[1]) != 0) return 2;
  const pid_t pid = fork();
  if (pid == 0) return close(ends[0][1]), child();
  close(ends[0][0]);
  close(ends[1][1]);
  let_step('b');
  for (int i = atoi(argv[2]); i > 0; --i) {
    const pid_t other = is("killed") ? fork() : 0;
    if (other != 0)
      waitpid(other, NULL, 0);
    else
      trace(pid);
    if (is("dies")) break;
    for (int n = 0; argc == 4 && n < 2000 && !engine_is_in(pid); ++n) usleep(10000);
    if (is("stopped")) {
      int status = 0;
      waitpid(pid, &status, WUNTRACED);
      printf("it is stopped: %d\n", WIFSTOPPED(status));
      kill(pid, SIGCONT);
    }
    let_step('a');
  }
  close(ends[0][1]);
  int status = 0;
  waitpid(pid, &status, 0);
  printf("ended: %x\n", status);
  return 0;
}
