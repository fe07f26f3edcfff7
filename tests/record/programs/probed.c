// Calls functions that the kernel has put probes into (uprobes): at the first instruction of one,
// which pushes a register, at one in the midst of another, at the return of a third, and at the
// jumps and the call of a fourth, which the kernel makes itself. With an
// argument it misuses the page from which the kernel leads on behind the third, but for
//   before   executes itself, which finds the probes there
//   inner    a function within a probed one returns there, so that the kernel ends both
//   pointer  a pointer leads there
//   slot     a return leads to another place of it, and a handler ends the process
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char __executable_start[];

// The same to the kernel as any function; what is probed has a label.
__asm__(
    ".text\n"
    "pushes: push %rbx; mov %edi, %ebx; lea 1(%rbx), %eax; pop %rbx; ret\n"
    "in_midst: mov %edi, %eax; midst: add $2, %eax; ret\n"
    "returns: lea 3(%rdi), %eax; ret\n"
    "branches: jmp test; nop; test: test $1, %dil; odd: jnz 1f; mov $4, %eax; ret\n"
    "1: call returns; calls: call returns; ret\n"
    "around: mov %edi, %eax; call inner; add $1, %eax; ret\n"
    "inner: lea 5(%rdi), %eax; mov %rsi, (%rsp); ret\n"
    "by_pointer: push %rbp; mov %rsp, %rbp; call *%rsi; leave; ret\n"
    "ends_both: push %rbp; mov %rsp, %rbp; call around; leave; ret\n");
extern int pushes(int), in_midst(int), returns(int), branches(int);
extern int around(int, uintptr_t);
extern int by_pointer(int, uintptr_t), ends_both(int, uintptr_t);
extern const char midst[], odd[], calls[];

static int probe(const void* at, int at_return) {
  static char path[4096];
  struct perf_event_attr event = {.size = sizeof event, .config = at_return};
  FILE* type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  if (type == NULL) return -1;
  const int got = fscanf(type, "%u", &event.type);
  fclose(type);
  if (got != 1 || readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return -1;
  event.uprobe_path = (uintptr_t)path;
  event.probe_offset = (uintptr_t)((const char*)at - __executable_start);
  return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
}

enum { kProbes = 6 };
static struct {
  const char* name;
  int event;
} probes[kProbes] = {{"first"}, {"midst"}, {"return"}, {"jump"}, {"condition"}, {"call"}};

static void say_count(const char* name, int event) {
  uint64_t count = 0;
  if (read(event, &count, sizeof count) != sizeof count) puts("no count");
  printf("%s: %lu\n", name, (unsigned long)count);
}

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static uintptr_t kernels_page(void) {
  char line[256];
  uintptr_t start = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (start == 0 && maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "[uprobes]") != NULL) sscanf(line, "%lx-", &start);
  }
  if (maps != NULL) fclose(maps);
  return start;
}

static void set_probes(void) {
  const void* const places[kProbes] = {(const void*)pushes,   midst, (const void*)returns,
                                       (const void*)branches, odd,   calls};
  for (int i = 0; i < kProbes; ++i) {
    probes[i].event = probe(places[i], i == 2);
    if (probes[i].event >= 0) continue;
    printf("no probes: %s\n", strerror(errno));
    exit(77);
  }
}

static int misuse(const char* how) {
  if (probe((const void*)returns, 1) < 0) return 77;
  returns(1);
  const uintptr_t page = kernels_page();
  signal(SIGILL, end);
  signal(SIGSEGV, end);
  signal(SIGTRAP, end);
  if (strcmp(how, "pointer") == 0) return by_pointer(1, page);
  if (strcmp(how, "slot") == 0) return around(1, page + 256);
  if (probe((const void*)around, 1) < 0) return 77;
  return ends_both(1, page) == 6 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "before") == 0) {
    set_probes();
    execl("/proc/self/exe", argv[0], "again", (char*)NULL);
    return 1;
  }
  const int again = argc > 1 && strcmp(argv[1], "again") == 0;
  if (argc > 1 && !again) return misuse(argv[1]);
  set_probes();
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += pushes(i) + in_midst(i) + returns(i) + branches(i);
  printf("%d\n", sum);
  for (int i = 0; i < kProbes; ++i) say_count(probes[i].name, probes[i].event);
  fflush(stdout);
  if (fork() == 0) {
    printf("child: %d\n", pushes(1) + in_midst(1) + returns(1) + branches(1));
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  wait(&status);
  for (int i = 0; i < kProbes; ++i) close(probes[i].event);
  printf("%d %d\n", status, pushes(1) + in_midst(1) + returns(1) + branches(1));
  return 0;
}
