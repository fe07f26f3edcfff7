// Code that changes, in every way that a program has: each line says what the newest version
// returns.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*Function)(void);

enum { kPage = 4096 };

static unsigned char* map(int prot, int flags, int fd) {
  return mmap(NULL, kPage, prot, flags, fd, 0);
}

// MOV EAX, value; RET
static void write_function(unsigned char* at, int value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

static int call(unsigned char* at) { return ((Function)(void*)at)(); }

// The page can be written to or executed, not both.
static void write_between_rights(unsigned char* page, int value) {
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
  write_function(page, value);
  mprotect(page, kPage, PROT_READ | PROT_EXEC);
}

static void rewritten_in_place(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    write_function(page, i);
    sum = sum * 3 + call(page);
  }
  printf("rewritten in place: %d\n", sum);
}

// Code and data on one page.
static void beside_data(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  write_function(page, 5);
  volatile int* data = (volatile int*)(page + 2048);
  for (int i = 0; i < 1000; ++i) *data += call(page);
  printf("beside data: %d\n", *data);
}

static void flipped(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    write_between_rights(page, i);
    sum = sum * 3 + call(page);
  }
  printf("protected and unprotected: %d\n", sum);
}

// A function that a branch leads to, and later a pointer so often that there is a second
// translation of it: the branch leads to the first one still when the function changes.
static void reached_in_two_ways(void) {
  unsigned char* page =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* caller = page + kPage;
  const int back = (int)(page - (caller + 8));
  memcpy(caller, "\x31\xc0\x0f\x84", 4);  // XOR EAX, EAX; JE page
  memcpy(caller + 4, &back, 4);
  int sum = 0;
  for (int version = 1; version < 4; ++version) {
    write_between_rights(page, version);
    sum = sum * 3 + call(page);
    sum = sum * 3 + call(caller);
    for (int i = 0; i < 10; ++i) sum = sum * 3 + call(page);
  }
  printf("reached in two ways: %d\n", sum);
}

static void mapped_twice(void) {
  const int file = memfd_create("code", 0);
  if (ftruncate(file, kPage) != 0) return;
  unsigned char* writable = map(PROT_READ | PROT_WRITE, MAP_SHARED, file);
  unsigned char* executable = map(PROT_READ | PROT_EXEC, MAP_SHARED, file);
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    write_function(writable, i);
    sum = sum * 3 + call(executable);
  }
  printf("mapped twice: %d\n", sum);
}

static void mapped_anew(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    munmap(page, kPage);
    mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    write_function(page, i);
    mprotect(page, kPage, PROT_READ | PROT_EXEC);
    sum = sum * 3 + call(page);
  }
  printf("mapped anew: %d\n", sum);
}

static void moved(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  unsigned char* place = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  write_function(page, 21);
  const int before = call(page);
  mremap(page, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  mmap(page, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
       0);
  write_function(page, 22);
  printf("moved: %d %d %d\n", before, call(page), call(place));
}

// Shared memory takes the place of code that has run.
static void attached_over(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  write_function(page, 31);
  mprotect(page, kPage, PROT_READ | PROT_EXEC);
  const int before = call(page);
  const int segment = shmget(IPC_PRIVATE, kPage, IPC_CREAT | 0700);
  unsigned char* writable = shmat(segment, NULL, 0);
  write_function(writable, 32);
  const int done = shmat(segment, page, SHM_REMAP | SHM_EXEC | SHM_RDONLY) == page;
  shmctl(segment, IPC_RMID, NULL);
  printf("attached over: %d %d\n", before, done ? call(page) : 0);
}

// The kernel writes the code.
static void read_from_pipe(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  int ends[2], sum = 0;
  if (pipe(ends) != 0) return;
  for (int i = 0; i < 20; ++i) {
    unsigned char code[6];
    write_function(code, i);
    if (write(ends[1], code, sizeof code) != sizeof code) return;
    if (read(ends[0], page, sizeof code) != sizeof code) printf("nothing read\n");
    sum = sum * 3 + call(page);
  }
  printf("read from a pipe: %d\n", sum);
}

// MOV BYTE [RIP + 1], DIL; MOV AL, 0: the next instruction, in the same block.
static void next_instruction(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  const unsigned char code[] = {0x31, 0xc0, 0x40, 0x88, 0x3d, 1, 0, 0, 0, 0xb0, 0, 0xc3};
  memcpy(page, code, sizeof code);
  int sum = 0;
  for (int i = 1; i < 40; ++i) sum = sum * 3 + ((int (*)(int))(void*)page)(i);
  printf("the next instruction: %d\n", sum);
}

// JMP [RIP + 0], as trampolines are: the eight bytes behind it say where to and are no code. They
// are written as often as they are read, on a page of code, or on one that nothing may run on.
static void slot_behind_a_jump(void) {
  const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
  unsigned char* page =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* functions =
      map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  for (int i = 0; i < 3; ++i) write_function(functions + 64 * i, i);
  mprotect(page + kPage, kPage, PROT_READ | PROT_WRITE);
  int sum = 0;
  for (int i = 0; i < 200; ++i) {
    unsigned char* at = i < 100 ? page : page + kPage - sizeof jump;
    const unsigned char* to = functions + 64 * (i % 3);
    if (i % 100 == 0) memcpy(at, jump, sizeof jump);
    memcpy(at + sizeof jump, &to, sizeof to);
    sum = sum * 3 + call(at);
  }
  printf("a slot behind a jump: %d\n", sum);
}

// The same jump over the end of a page, of which only the next one changes: which slot it takes.
static void jump_over_the_end_of_a_page(void) {
  unsigned char* pages =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* second = pages + kPage;
  memcpy(second - 2, (const unsigned char[]){0xff, 0x25}, 2);
  for (int i = 0; i < 3; ++i) {
    unsigned char* function = pages + 64 * i;
    write_function(function, i);
    memcpy(second + 4 + 64 * i, &function, sizeof function);
  }
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    const int displacement = 64 * (i % 3);
    memcpy(second, &displacement, sizeof displacement);
    sum = sum * 3 + call(second - 2);
  }
  printf("a jump over the end of a page: %d\n", sum);
}

// A page that is written again and again, behind one that is not: reached by falling into it, and
// by an instruction that lies in both.
static void behind_a_page(void) {
  unsigned char* pages =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* second = pages + kPage;
  memset(second - 16, 0x90, 16);
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    write_function(second, i);
    sum = sum * 3 + call(second - 8) + call(second);
  }
  write_function(second - 3, 0);
  for (int i = 0; i < 40; ++i) {
    second[1] = (unsigned char)i;
    sum = sum * 3 + call(second - 16) + call(second - 3);
  }
  printf("behind a page: %d\n", sum);
}

// A jump's target is patched while another thread goes through it.
static unsigned char* patched;
static volatile int stop;

static void* run_patched(void* count) {
  long calls = 0;
  while (!stop) calls += call(patched) != 0;
  *(long*)count = calls;
  return NULL;
}

static void patched_by_thread(void) {
  patched = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  patched[0] = 0xe9;  // at an address where its displacement is written in one piece
  write_function(patched + 64, 1);
  write_function(patched + 128, 2);
  volatile int* displacement = (volatile int*)(patched + 1);
  *displacement = 64 - 5;
  long calls = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, &run_patched, &calls);
  for (int i = 0; i < 200; ++i) {
    *displacement = (i % 2 == 0 ? 128 : 64) - 5;
    usleep(50);
  }
  stop = 1;
  pthread_join(thread, NULL);
  printf("patched by a thread: %s %d\n", calls > 0 ? "ran" : "did not run", call(patched));
}

__attribute__((noinline, aligned(64))) static int of_the_file(void) {
  __asm__ volatile("" ::: "memory");
  return 5;
}

static void* stays(void* number) {
  __atomic_store_n((pid_t*)number, gettid(), __ATOMIC_RELEASE);
  for (;;) pause();
}

// By the number of another thread, whose folder /proc does not list.
static int open_by_thread(void) {
  pid_t number = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, stays, &number);
  while (__atomic_load_n(&number, __ATOMIC_ACQUIRE) == 0) usleep(100);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", number);
  return open(path, O_RDWR);
}

// What no right is needed for, and raises no fault: /proc/self/mem.
static void through_memory_file(void) {
  unsigned char* page = map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  unsigned char* own = (unsigned char*)(unsigned long)of_the_file;
  const int files[] = {open("/proc/self/mem", O_RDWR), open("/proc/thread-self/mem", O_RDWR),
                       open_by_thread()};
  int sum = call(own);
  for (int i = 0; i < 40; ++i) {
    unsigned char code[8];
    write_function(code, i);
    struct iovec parts[] = {{code, 2}, {code + 2, 4}};
    const int file = files[i / 4 % 3];
    for (int at = 0; at < 2; ++at) {
      const long place = (long)(at == 0 ? page : own);
      switch (i % 4) {
        case 0:
          if (pwrite(file, code, 6, place) != 6) return;
          break;
        case 1:
          if (pwritev(file, parts, 2, place) != 6) return;
          break;
        default:
          lseek(file, place, SEEK_SET);
          if ((i % 4 == 2 ? write(file, code, 6) : writev(file, parts, 2)) != 6) return;
      }
    }
    sum = sum * 3 + call(page) + 2 * call(own);
  }
  printf("through the memory's file: %d\n", sum);
}

// Into a page that code ran on, by calls that cannot be made again.
static void written_by_the_kernel(void) {
  unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  write_function(page, 5);
  call(page);
  const pid_t child = fork();
  if (child == 0) _exit(3);
  const int waited = waitpid(child, (int*)(page + 2048), 0) == child;
  printf("written by the kernel: %d %x", waited, *(int*)(page + 2048));
  int ends[2];
  socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
  char far[4] = "";
  struct iovec parts[2] = {{far, 2}, {page + 3000, 2}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  call(page);
  send(ends[0], "abcd", 4, 0);
  printf(" %zd", recv(ends[1], page + 2048, 4, MSG_DONTWAIT));
  call(page);
  send(ends[0], "abcd", 4, 0);
  const ssize_t got = recvmsg(ends[1], &message, MSG_DONTWAIT);
  printf(" %zd %c%c %d", got, far[1], page[3001], call(page));
  off_t* offset = (off_t*)(page + 2048);
  *offset = 1;
  call(page);
  const int file = open("/proc/self/exe", O_RDONLY);
  printf(" %zd", sendfile(ends[0], file, offset, 2));
  recv(ends[1], far, 4, 0);
  printf(" %ld %d", *offset, recv(ends[1], far, 4, MSG_DONTWAIT) > 0);
  const struct itimerval hour = {.it_value = {.tv_sec = 3600}}, none = {0};
  struct itimerval* before = (struct itimerval*)(page + 2048);
  setitimer(ITIMER_REAL, &hour, NULL);
  call(page);
  setitimer(ITIMER_REAL, &none, before);
  printf(" %d\n", before->it_value.tv_sec > 0);
}

// GCC's nested functions put code on the stack.
static int apply(int (*function)(int), int value) { return function(value); }
static int nested(int offset) {
  int add(int value) { return value + offset; }
  return apply(add, 2);
}

// Further down each time: the stack grows below pages that code ran on.
static int nested_deeply(int depth) {
  volatile char frame[512];
  frame[0] = 1;
  int add(int value) { return value + depth + frame[0]; }
  const int sum = apply(add, 0);
  return depth == 0 ? sum : sum + nested_deeply(depth - 1);
}

// As the engine hashes targets of indirect branches, or it tests nothing.
__attribute__((target("sse4.2"))) static unsigned hash(const void* at) {
  return (unsigned)(__builtin_ia32_crc32di(0, (unsigned long)at) & 0xffff);
}

// Flags that a call brings along to a place that hashes like another one, which reads none.
static void flags_to_another(void) {
  enum { kBytes = 1 << 22 };
  unsigned char* code =
      mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* alike = code + kPage;
  while (alike < code + kBytes - kPage && hash(alike) != hash(code)) ++alike;
  code[0] = 0x31, code[1] = 0xc0, code[2] = 0xc3;  // XOR EAX, EAX; RET
  static const unsigned char reads[] = {0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};  // SETC, MOVZX
  memcpy(alike, reads, sizeof reads);
  mprotect(code, kBytes, PROT_READ | PROT_EXEC);
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    int carry;
    sum += call(code);
    __asm__ volatile("cmp %1, %2; call *%3"
                     : "=a"(carry)
                     : "r"(i % 2), "r"(0), "r"(alike)
                     : "cc", "memory");
    sum = sum * 3 + carry;
  }
  printf("flags: %d, hashes alike: %d\n", sum, hash(alike) == hash(code));
}

// XOR ECX, ECX, by which nobody needs to look further for who reads flags; JMP.
static void write_jump(unsigned char* at, const unsigned char* to) {
  const int distance = (int)(to - (at + 7));
  at[0] = 0x31, at[1] = 0xc9, at[2] = 0xe9;
  memcpy(at + 3, &distance, 4);
}

// The way to code that has been rewritten leads to the second of three translations of it, the
// third is a shorter one, and then what only the second goes on with is written to.
static void rewritten_behind(void) {
  unsigned char* const first =
      mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char* const second = first + kPage;
  unsigned char* const leads_there = second + kPage;
  write_function(first, 1);
  write_jump(first + 5, second);
  write_function(second, 10);
  second[0] = 0x05;  // ADD EAX, value
  write_jump(leads_there, first);
  int sum = call(leads_there);
  first[1] = 2;
  sum = sum * 100 + call(leads_there);
  for (int i = 0; i < 10; ++i) call(second);
  for (int i = 0; i < 10; ++i) call(first);
  second[1] = 20;
  sum = sum * 100 + call(leads_there);
  printf("rewritten behind: %d\n", sum);
}

// The kernel no longer lets a page be written and executed, nor gives such rights back.
static void without_more_rights(void) {
  fflush(stdout);
  if (fork() == 0) {
    enum { kSetMdwe = 65 };  // PR_SET_MDWE, since Linux 6.3
    unsigned char* page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    write_function(page, 1);
    int sum = call(page);
    prctl(kSetMdwe, 1, 0, 0, 0);
    for (int i = 2; i < 4; ++i) {
      write_function(page, i);
      sum = sum * 10 + call(page);
    }
    printf("without more rights: %d\n", sum);
    fflush(stdout);
    _exit(0);
  }
  int status;
  wait(&status);
  printf("ended: %x\n", status);
}

int main(void) {
  rewritten_in_place();
  rewritten_behind();
  beside_data();
  flipped();
  reached_in_two_ways();
  mapped_twice();
  mapped_anew();
  moved();
  attached_over();
  read_from_pipe();
  written_by_the_kernel();
  next_instruction();
  slot_behind_a_jump();
  jump_over_the_end_of_a_page();
  behind_a_page();
  patched_by_thread();
  flags_to_another();
  through_memory_file();
  without_more_rights();
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += nested(i);
  printf("on the stack: %d\n", sum);
  printf("on a stack that grows: %d\n", nested_deeply(1000));
  return 0;
}
