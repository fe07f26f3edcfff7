// A thread that waits for a page of its memory, which another one brings (userfaultfd) when the
// program is told to go on.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPage = 4096 };

static int faults;

static void* bring(void* unused) {
  static uint8_t page[kPage] __attribute__((aligned(4096))) = {[5] = 77};
  struct uffd_msg message;
  char line[16];
  if (read(faults, &message, sizeof message) != sizeof message) return NULL;
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) return NULL;
  const uint64_t at = message.arg.pagefault.address & ~(uint64_t)(kPage - 1);
  struct uffdio_copy copy = {.dst = at, .src = (uint64_t)page, .len = kPage};
  ioctl(faults, UFFDIO_COPY, &copy);
  return unused;
}

int main(void) {
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {.api = UFFD_API};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0) {
    puts("none");
    return 0;
  }
  volatile uint8_t* const page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register wanted = {{(uint64_t)page, kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
  if (ioctl(faults, UFFDIO_REGISTER, &wanted) < 0) return 1;
  pthread_t thread;
  pthread_create(&thread, NULL, bring, NULL);
  printf("%d\n", page[5]);
  pthread_join(thread, NULL);
  return 0;
}
