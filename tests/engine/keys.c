// Protection keys (pkeys(7)): code that its own thread may not read runs natively, in a handler, in
// other threads, after it has changed, where it is checked; handlers begin with the kernel's rights
// and give the others back. Execute-only memory is made of a key, too. Without keys in the
// processor only that is left.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char kAddTo[] = {0x8d, 0x47, 42, 0xc3};  // LEA EAX, [RDI + 42]; RET
typedef int Function(int);
static Function* add;

static unsigned rights(void) {
  unsigned low = 0, high = 0;
  asm volatile("rdpkru" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static void* new_code(void) {
  void* code = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memcpy(code, kAddTo, sizeof kAddTo);
}

static int sum(int calls) {
  int result = 0;
  for (int i = 0; i < calls; ++i) result += add(i);
  return result;
}

static sigjmp_buf refused;
static void refuse(int number, siginfo_t* info, void* context) {
  siglongjmp(refused, info->si_code);
}

static int code_of_read(const void* from) {
  const int code = sigsetjmp(refused, 1);
  return code != 0 ? code : *(const volatile unsigned char*)from * 0;
}

static void execute_only(void) {
  add = new_code();
  mprotect((void*)add, 4096, PROT_EXEC);
  printf("execute-only: %d, read: %d\n", sum(100), code_of_read((void*)add));
}

static volatile sig_atomic_t seen, good, ticks;
static void handler(int number) {
  seen = (int)rights();
  good += add(1) == 43;
  ++ticks;
}

static void in_handlers(void) {
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  signal(SIGUSR1, handler);
  signal(SIGALRM, handler);
  raise(SIGUSR1);
  printf("handler: %x %d, behind it %x\n", seen, good, rights());
  const unsigned before = rights();
  int changed = 0;
  setitimer(ITIMER_REAL, &often, 0);
  while (ticks < 100) changed += rights() != before;
  setitimer(ITIMER_REAL, &never, 0);
  printf("handlers: %x %d, behind them %x, between %d\n", seen, good == ticks, rights(), changed);
}

static void* run_thread(void* unused) {
  printf("thread: %x %d\n", rights(), sum(100));
  return 0;
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = refuse, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, 0);
  execute_only();
  const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  if (key < 0) {
    puts("no keys");
    return 0;
  }
  unsigned char* code = new_code();
  pkey_mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, key);
  add = (Function*)code;
  printf("may not read: %d, read: %d\n", sum(10000), code_of_read(code));
  in_handlers();
  int changing = 0;
  for (int i = 0; i < 300; ++i) {
    pkey_set(key, 0);
    code[2] = i % 100;
    pkey_set(key, PKEY_DISABLE_ACCESS);
    changing += add(i);
  }
  printf("changing: %d\n", changing);
  pthread_t thread;
  pthread_create(&thread, 0, run_thread, 0);
  pthread_join(thread, 0);
  fflush(stdout);
  if (fork() == 0) {
    printf("child: %x %d\n", rights(), sum(100));
    fflush(stdout);
    _exit(0);
  }
  wait(0);
  pkey_set(key, PKEY_DISABLE_WRITE);
  printf("may read: %d\n", code_of_read(code));
  return 0;
}
