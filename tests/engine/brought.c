// Code in pages that another thread of the program brings when they are first needed, by
// userfaultfd: whoever reads them for the program must not keep that thread from running.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPages = 8, kPage = 4096 };

static int faults;

// Each page returns its number plus 70.
static void fill(uint8_t* page, unsigned number) {
  const uint8_t code[] = {0xb8, (uint8_t)(70 + number), 0, 0, 0, 0xc3};
  memset(page, 0x90, kPage);
  memcpy(page, code, sizeof code);
}

static void* bring(void* area) {
  static uint8_t page[kPage] __attribute__((aligned(4096)));
  for (unsigned i = 0; i < kPages; ++i) {
    struct uffd_msg message;
    if (read(faults, &message, sizeof message) != sizeof message) return NULL;
    const uint64_t at = message.arg.pagefault.address & ~(uint64_t)(kPage - 1);
    fill(page, (unsigned)((at - (uint64_t)area) / kPage));
    struct uffdio_copy copy = {.dst = at, .src = (uint64_t)page, .len = kPage};
    ioctl(faults, UFFDIO_COPY, &copy);
  }
  return NULL;
}

int main(void) {
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {.api = UFFD_API};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0) {
    puts("this kernel has no userfaultfd");
    return 0;
  }
  uint8_t* const area = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register wanted = {
      {(uint64_t)area, kPages * kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
  if (ioctl(faults, UFFDIO_REGISTER, &wanted) < 0) return 1;
  pthread_t thread;
  pthread_create(&thread, NULL, bring, area);
  int sum = 0;
  for (unsigned i = 0; i < kPages; ++i) sum += ((int (*)(void))(area + i * kPage))();
  printf("code brought: %d\n", sum);
  pthread_join(thread, NULL);
  return 0;
}
