// Mapped code that is not there: behind the end of its file, or thrown away by an advice; and pages
// whose rights the engine cannot change (mseal). What older kernels lack fails in the same way.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPage = 4096, kMseal = 462, kGuardInstall = 102, kGuardRemove = 103, kOwnProcess = -10000 };

typedef int (*Function)(void);

static sigjmp_buf back;
static void on_fault(int number) { siglongjmp(back, number); }

// What is there, or how it fails.
static int try(const unsigned char* at) {
  const int failed = sigsetjmp(back, 1);
  return failed != 0 ? -failed : ((Function)(void*)at)();
}

// MOV EAX, value; RET; behind which nothing runs.
static void make(unsigned char* at, int value) {
  memset(at, 0xcc, kPage);
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

// With a page behind it, to which a page of zeros leads: each two are ADD [RAX], AL.
static unsigned char* made(int value) {
  unsigned char* page =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  make(page, value);
  make(page + kPage, 100);
  return page;
}

static void behind_the_end(int flags, const char* name) {
  const int file = memfd_create("code", 0);
  unsigned char bytes[kPage];
  make(bytes, 5);
  const unsigned char* area = mmap(NULL, 2 * kPage, PROT_READ | PROT_EXEC, flags, file, 0);
  printf("%s: %d", name, try(area));
  pwrite(file, bytes, kPage, 0);
  printf(" %d %d %d", try(area), try(area), try(area + kPage));
  // An instruction that begins on the last page.
  memcpy(bytes + kPage - 3, "\x48\xb8\x01", 3);
  pwrite(file, bytes, kPage, 0);
  printf(" %d\n", try(area + kPage - 3));
  close(file);
}

static void cut_short(void) {
  const int file = memfd_create("code", 0);
  ftruncate(file, kPage);
  unsigned char* page = mmap(NULL, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
  make(page, 6);
  printf("cut short: %d", try(page));
  ftruncate(file, 0);
  printf(" %d", try(page));
  ftruncate(file, kPage);
  make(page, 7);
  printf(" %d\n", try(page));
}

static void advised(void) {
  unsigned char* page = made(8);
  int ran = try(page);
  int result = madvise(page, kPage, kGuardInstall);
  printf("guarded: %d %d %d", ran, result, result == 0 ? try(page) : 0);
  result = madvise(page, kPage, kGuardRemove);
  if (result == 0) make(page, 9);
  printf(" %d %d\n", result, try(page));

  page = made(10);
  ran = try(page);
  printf("made present: %d %d\n", ran, madvise(page, kPage, MADV_POPULATE_WRITE));

  page = made(11);
  ran = try(page);
  const struct iovec part = {page, kPage};
  result = syscall(SYS_process_madvise, kOwnProcess, &part, 1, MADV_DONTNEED, 0) == kPage;
  printf("by a list: %d %d %d\n", ran, result, result ? try(page) : 0);
}

static void sealed(void) {
  unsigned char* page = made(0);
  int sum = 0, result = (int)syscall(kMseal, page, kPage, 0);
  for (int i = 0; i < 100; ++i) {
    page[1] = (unsigned char)i;
    sum = sum * 3 + try(page);
  }
  printf("sealed: %d %d\n", result, sum);
  page = made(13);
  int ran = try(page);  // and is guarded
  result = (int)syscall(kMseal, page, kPage, 0);
  page[1] = 14;
  printf("sealed later: %d %d %d", ran, result, try(page));
  page[1] = 15;
  printf(" %d\n", try(page));
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  signal(SIGSEGV, on_fault);
  signal(SIGBUS, on_fault);
  signal(SIGTRAP, on_fault);
  behind_the_end(MAP_PRIVATE, "behind the end");
  behind_the_end(MAP_SHARED, "behind the end, shared");
  cut_short();
  advised();
  sealed();
  return 0;
}
