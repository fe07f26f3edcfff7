// Code in pages that another thread of the program brings when they are first needed, by
// userfaultfd: whoever reads them for the program must not keep that thread from running. Each is
// called; then of others one leads to the next.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPages = 8, kPage = 4096 };

static int faults;
static uint8_t *called, *led_through;

// Each page returns its number plus 70.
static void fill_called(uint8_t* page, unsigned number) {
  const uint8_t code[] = {0xb8, (uint8_t)(70 + number), 0, 0, 0, 0xc3};
  memset(page, 0x90, kPage);
  memcpy(page, code, sizeof code);
}

// Each adds one and goes on behind its end; from odd pages on by an instruction that begins there.
static void fill_led_through(uint8_t* page, unsigned number) {
  static const uint8_t clear[] = {0x31, 0xc0}, add[] = {0x83, 0xc0, 1};
  const bool begins_before = number % 2 == 0 && number != 0;
  uint8_t* at = page;
  memset(page, 0x90, kPage);
  if (number == 0) at = (uint8_t*)memcpy(at, clear, sizeof clear) + sizeof clear;
  at = (uint8_t*)memcpy(at, add + begins_before, sizeof add - begins_before) + sizeof add -
       begins_before;
  if (number == kPages - 1) {
    *at = 0xc3;
    return;
  }
  const int32_t over = kPage - 16 - (int32_t)(at + 5 - page);
  *at = 0xe9;  // JMP
  memcpy(at + 1, &over, sizeof over);
  if (number % 2 != 0) page[kPage - 1] = add[0];
}

static void* bring(void* unused) {
  static uint8_t page[kPage] __attribute__((aligned(4096)));
  for (unsigned i = 0; i < 2 * kPages; ++i) {
    struct uffd_msg message;
    if (read(faults, &message, sizeof message) != sizeof message) return NULL;
    const uint64_t at = message.arg.pagefault.address & ~(uint64_t)(kPage - 1);
    if (at - (uint64_t)called < kPages * kPage) {
      fill_called(page, (unsigned)((at - (uint64_t)called) / kPage));
    } else {
      fill_led_through(page, (unsigned)((at - (uint64_t)led_through) / kPage));
    }
    struct uffdio_copy copy = {.dst = at, .src = (uint64_t)page, .len = kPage};
    ioctl(faults, UFFDIO_COPY, &copy);
  }
  return unused;
}

static uint8_t* map_missing(void) {
  uint8_t* const area = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register wanted = {
      {(uint64_t)area, kPages * kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
  return ioctl(faults, UFFDIO_REGISTER, &wanted) < 0 ? NULL : area;
}

int main(void) {
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {.api = UFFD_API};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0) {
    puts("this kernel has no userfaultfd");
    return 0;
  }
  called = map_missing();
  led_through = map_missing();
  if (called == NULL || led_through == NULL) return 1;
  pthread_t thread;
  pthread_create(&thread, NULL, bring, NULL);
  int sum = 0;
  for (unsigned i = 0; i < kPages; ++i) sum += ((int (*)(void))(called + i * kPage))();
  printf("code brought: %d\n", sum);
  printf("and behind it: %d\n", ((int (*)(void))led_through)());
  pthread_join(thread, NULL);
  return 0;
}
