// What the machine and the kernel give a program beside its instructions: segment bases, vector and
// x87 state, vsyscalls, restartable sequences, memory at any place, clone3, many threads, loops
// without an end.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <errno.h>
#include <immintrin.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void segment_bases(void) {
  static uint64_t one[4] = {11, 12, 13, 14}, other[4] = {21, 22, 23, 24};
  uint64_t by_gs = 0, base = 0, fs = 0, by_fs = 0;
  syscall(SYS_arch_prctl, ARCH_SET_GS, one);
  asm volatile("movq %%gs:8, %0" : "=r"(by_gs));
  printf("gs: %d", (int)by_gs);
  syscall(SYS_arch_prctl, ARCH_SET_GS, other);
  asm volatile("movq %%gs:8, %%r10\n\tmovq %%r10, %0" : "=r"(by_gs)::"r10");
  syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
  printf(" %d %d", (int)by_gs, base == (uint64_t)other);
  // FS is the C library's: not a call between, but a system call.
  syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
  long result = SYS_arch_prctl;
  asm volatile(
      "movl %3, %%eax\n\tmovl %4, %%edi\n\tmovq %5, %%rsi\n\tsyscall\n\t"
      "movq %%fs:16, %0\n\t"
      "movl %3, %%eax\n\tmovl %4, %%edi\n\tmovq %6, %%rsi\n\tsyscall\n\tmovq %%rax, %1"
      : "=&r"(by_fs), "=&r"(result)
      : "m"(result), "i"(SYS_arch_prctl), "i"(ARCH_SET_FS), "r"(other), "r"(fs)
      : "rax", "rdi", "rsi", "rcx", "r11", "memory");
  printf(" fs: %d %d\n", (int)by_fs, (int)result);
}

static volatile sig_atomic_t ticks;
static void tick(int number) {
  asm volatile("pxor %%xmm0, %%xmm0\n\tfninit" ::: "xmm0");
  ++ticks;
}

// AMX's tiles: kept over handlers, which begin without them. They have to be asked for.
static void tiles(void) {
  enum { kAskForState = 0x1023, kTileData = 18 };
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  static unsigned char shape[64] = {[0] = 1, [16] = 64, [48] = 16}, in[1024], out[1024];
  if (syscall(SYS_arch_prctl, kAskForState, kTileData) != 0) {
    puts("no tiles");
    return;
  }
  for (unsigned i = 0; i < sizeof in; ++i) in[i] = i * 7;
  int good = 0;
  signal(SIGALRM, tick);
  setitimer(ITIMER_REAL, &often, 0);
  for (int round = 0; round < 20; ++round) {
    const sig_atomic_t until = ticks + 2;
    asm volatile("ldtilecfg %0\n\ttileloadd (%1,%2,1), %%tmm0" ::"m"(shape), "r"(in), "r"(64L));
    while (ticks < until) getppid();
    asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease" ::"r"(out), "r"(64L) : "memory");
    good += memcmp(in, out, sizeof in) == 0;
    memset(out, 0, sizeof out);
  }
  setitimer(ITIMER_REAL, &never, 0);
  printf("tiles: %d\n", good);
}

// System calls, new code and signals come between; a handler changes all of it.
static void state(void) {
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  unsigned mxcsr = 0x7f80, found = 0;  // rounds towards 0
  unsigned short control = 0x0e7f, x87 = 0;
  unsigned char wide[64], seen[64];
  int good = 0;
  signal(SIGALRM, tick);
  for (int i = 0; i < 64; ++i) wide[i] = (unsigned char)(i * 7 + 1);
  setitimer(ITIMER_REAL, &often, NULL);
  asm volatile("ldmxcsr %0\n\tfldcw %1\n\tfldpi" ::"m"(mxcsr), "m"(control));
  const int avx512 = __builtin_cpu_supports("avx512f");
  const int avx = __builtin_cpu_supports("avx2");
  while (ticks < 40) {
    memset(seen, 0, sizeof seen);
    long number = SYS_getppid;
    if (avx512) {
      asm volatile(
          "vmovdqu64 %2, %%zmm17\n\tkmovw %%ecx, %%k3\n\tmovl $200, %%r8d\n"
          "1:\tdecl %%r8d\n\tjnz 1b\n\tsyscall\n\tvmovdqu64 %%zmm17, %1"
          : "+a"(number), "=m"(seen)
          : "m"(wide)
          : "rcx", "r8", "r11", "memory");
    } else if (avx) {
      asm volatile("vmovdqu %2, %%ymm7\n\tsyscall\n\tvmovdqu %%ymm7, %1\n\tvzeroupper"
                   : "+a"(number), "=m"(seen)
                   : "m"(wide)
                   : "rcx", "r11", "xmm7", "memory");
    } else {
      memcpy(seen, wide, sizeof seen);
    }
    good += memcmp(seen, wide, avx512 ? 64 : 32) == 0 ? 0 : 1;
  }
  double pi = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1\n\tfstpl %2" : "=m"(found), "=m"(x87), "=m"(pi));
  setitimer(ITIMER_REAL, &never, NULL);
  printf("state: %d lost, mxcsr %x, x87 %x, %.5f\n", good, found & ~0x3f, x87, pi);
}

static void vsyscall(void) {
  char line[256];
  int there = 0, near = 1;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "[vsyscall]") != NULL) there = 1;
  }
  if (maps != NULL) fclose(maps);
  if (there) {
    const time_t before = time(NULL);
    const time_t found = ((time_t (*)(time_t*))0xffffffffff600400)(NULL);
    near = found >= before && found - before < 60;
  }
  struct timespec one, other;
  clock_gettime(CLOCK_MONOTONIC, &one);
  clock_gettime(CLOCK_MONOTONIC, &other);
  const int forward =
      other.tv_sec > one.tv_sec || (other.tv_sec == one.tv_sec && other.tv_nsec >= one.tv_nsec);
  printf("vsyscall: %d, vdso: %d\n", near, forward);
}

// Counts by critical sections that the kernel restarts at their addresses, where it does that for
// us: one counter for each processor, without atomic instructions.
enum { kCounted = 60000, kProcessors = 1024 };
static uint64_t counters[kProcessors], others;
static void* count(void* unused) {
  struct rseq area __attribute__((aligned(32))) = {0};
  if (syscall(SYS_rseq, &area, sizeof area, 0, 0x53053053) != 0) {
    for (int i = 0; i < kCounted; ++i) __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  for (int i = 0; i < kCounted; ++i) {
    asm volatile goto(
        ".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n"
        "3:\t.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n"
        "\tleaq 3b(%%rip), %%rax\n\tmovq %%rax, %0\n"
        "1:\tmovl %1, %%edx\n\tmovq (%2, %%rdx, 8), %%rcx\n\tincq %%rcx\n"
        "\tmovl $400, %%eax\n5:\tdecl %%eax\n\tjnz 5b\n\tmovq %%rcx, (%2, %%rdx, 8)\n"
        "2:\tjmp %l[done]\n\t.long 0x53053053\n"
        "4:\tjmp %l[again]\n" ::"m"(area.rseq_cs),
        "m"(area.cpu_id), "r"(counters)
        : "rax", "rcx", "rdx", "memory", "cc"
        : done, again);
  again:
    --i;
  done:;
  }
  syscall(SYS_rseq, &area, sizeof area, RSEQ_FLAG_UNREGISTER, 0x53053053);
  return NULL;
}
static void restartable(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kProcessors; ++i) others += counters[i];
  printf("restartable: %d\n", (int)others);
}

// Natively nothing is there.
static void somebody_elses_memory(void) {
  uint64_t start, end;
  char line[256], rights[8];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3) continue;
    const int engine =
        strcmp(rights, "rwxp") == 0 || (start >= 0x7ea000000000 && start < 0x7ec000000000);
    if (!engine) continue;
    munmap((void*)start, end - start);
    mprotect((void*)start, end - start, PROT_NONE);
    mmap((void*)start, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mremap((void*)start, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, start - 4096);
    madvise((void*)start, end - start, MADV_DONTNEED);
  }
  if (maps != NULL) fclose(maps);
  printf("memory: still here\n");
}

static void by_clone3(void) {
  struct clone_args args = {.exit_signal = SIGCHLD};
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) _exit(getppid() > 1 ? 17 : 1);
  int status = 0;
  waitpid((pid_t)pid, &status, 0);
  printf("clone3: %d\n", WEXITSTATUS(status));
}

static void* count_up(void* counter) {
  return (void*)(uintptr_t)__atomic_add_fetch((int*)counter, 1, __ATOMIC_RELAXED);
}
static void many_threads(void) {
  enum { kAtOnce = 200, kRounds = 5 };
  static int counter;
  pthread_t threads[kAtOnce];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kAtOnce; ++i) pthread_create(&threads[i], NULL, count_up, &counter);
    for (int i = 0; i < kAtOnce; ++i) pthread_join(threads[i], NULL);
  }
  printf("threads: %d\n", counter);
}

static sigjmp_buf away;
static void leave(int number) { siglongjmp(away, number); }
static void endless(void) {
  signal(SIGALRM, leave);
  if (sigsetjmp(away, 1) == 0) {
    const struct itimerval soon = {{0, 0}, {0, 3000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    asm volatile("1:\tjmp 1b");
  }
  printf("endless: left\n");
}

// Where the x87 unit's last instruction stood. The processor may have forgotten it when it was
// interrupted: of many tries one is enough.
static void place_of_x87(void) {
  uint32_t environment[7], state[27];
  int by_environment = 0, by_state = 0;
  for (int i = 0; i < 100; ++i) {
    uintptr_t loads = 0;
    asm volatile("leaq 1f(%%rip), %1; 1: fld1; jmp 2f; 2: fnstenv %0; fldenv %0; fstp %%st(0)"
                 : "=m"(environment), "=r"(loads));
    by_environment |= environment[3] == (uint32_t)loads;
    int carry = 0;
    asm volatile(
        "leaq 1f(%%rip), %1; stc; 1: fldpi; fnsave %0; sbbl %2, %2; frstor %0; fstp %%st(0)"
        : "=m"(state), "=r"(loads), "=r"(carry)
        :
        : "cc");
    by_state |= carry == -1 && state[3] == (uint32_t)loads;
  }
  // All of its 64 bits; AMD's processors store them only with an exception that is not masked.
  unsigned char all[8192] __attribute__((aligned(64))) = {0};
  int by_fxsave = 0, by_xsave = 0, by_xsavec = 0;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const int has_xsave = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_OSXSAVE) != 0;
  const int has_xsavec = has_xsave && __get_cpuid_count(13, 1, &a, &b, &c, &d) != 0 && (a & 2) != 0;
  const uint16_t unmasked = 0x37e;
  const double negative = -1;
#define PLACE_BY(save, place)                                                           \
  do {                                                                                  \
    uintptr_t root = 0, told = 0;                                                       \
    asm volatile("fldcw %2; fldl %3; leaq 1f(%%rip), %1; 1: fsqrt; " save " %0; fninit" \
                 : "+m"(all), "=&r"(root)                                               \
                 : "m"(unmasked), "m"(negative), "a"(1), "d"(0));                       \
    memcpy(&told, all + 8, sizeof told);                                                \
    place |= told == root;                                                              \
  } while (0)
  for (int i = 0; i < 100; ++i) {
    PLACE_BY("fxsave64", by_fxsave);
    if (has_xsave) PLACE_BY("xsave64", by_xsave);
    if (has_xsavec) PLACE_BY("xsavec64", by_xsavec);
  }
  printf("place of x87: %d %d, %d %d %d\n", by_environment, by_state, by_fxsave, by_xsave,
         by_xsavec);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  segment_bases();
  state();
  place_of_x87();
  tiles();
  vsyscall();
  restartable();
  somebody_elses_memory();
  by_clone3();
  many_threads();
  endless();
  return 0;
}
