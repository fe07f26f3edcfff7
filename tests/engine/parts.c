// System calls that fill two pages, of which code ran on the second: each fills both.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPage = 4096, kBoth = 2 * kPage };

static unsigned char* make_pages(void) {
  unsigned char* pages =
      mmap(NULL, kBoth, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(pages + kPage, "\xb8\x01\x00\x00\x00\xc3", 6);  // mov eax, 1; ret
  if (((int (*)(void))(pages + kPage))() != 1) abort();
  return pages;
}

static struct iovec pages(void) { return (struct iovec){make_pages(), kBoth}; }

int main(void) {
  static char source[kBoth];
  struct iovec from = {source, kBoth}, to;
  int file = memfd_create("source", 0);
  write(file, source, kBoth);
  lseek(file, 0, SEEK_SET);
  printf("read %zd\n", read(file, make_pages(), kBoth));
  printf("pread %zd\n", pread(file, make_pages(), kBoth, 0));
  to = pages();
  printf("preadv %zd\n", preadv(file, &to, 1, 0));
  to = pages();
  printf("preadv2 %zd\n", preadv2(file, &to, 1, 0, 0));
  to = pages();
  printf("process_vm_readv %zd\n", process_vm_readv(getpid(), &to, 1, &from, 1, 0));
  to = pages();
  printf("process_vm_writev %zd\n", process_vm_writev(getpid(), &from, 1, &to, 1, 0));
  printf("getrandom %zd\n", getrandom(make_pages(), kBoth, 0));
  aio_context_t context = 0;
  struct iocb read = {.aio_lio_opcode = IOCB_CMD_PREAD,
                      .aio_fildes = file,
                      .aio_buf = (unsigned long)make_pages(),
                      .aio_nbytes = kBoth};
  struct iocb* reads[] = {&read};
  struct io_event event = {0};
  syscall(SYS_io_setup, 1, &context);
  syscall(SYS_io_submit, context, 1, reads);
  syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
  printf("io_submit %lld\n", event.res);
  int folder = open("/proc/sys/net/ipv4", O_RDONLY | O_DIRECTORY);
  static char entries[kBoth];
  long natively = syscall(SYS_getdents64, folder, entries, kBoth);
  lseek(folder, 0, SEEK_SET);
  printf("getdents64 %d\n", syscall(SYS_getdents64, folder, make_pages(), kBoth) == natively);
  return 0;
}
