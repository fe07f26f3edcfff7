// Has the kernel read from a pipe in threads of its own (io_uring), says so, and when told to go on
// how that ended.
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned char *submissions, *completions;
static struct io_uring_params ring;

static unsigned* at(unsigned char* of, unsigned offset) { return (unsigned*)(of + offset); }

static void* map(int fd, size_t bytes, off_t what) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

int main(void) {
  ring.flags = IORING_SETUP_SQPOLL;
  const int fd = (int)syscall(SYS_io_uring_setup, 4, &ring);
  int ends[2];
  if (fd < 0 || pipe(ends) < 0) {
    puts("none");
    return 0;
  }
  submissions = map(fd, ring.sq_off.array + ring.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  completions =
      map(fd, ring.cq_off.cqes + ring.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
  struct io_uring_sqe* const asked = map(fd, ring.sq_entries * sizeof *asked, IORING_OFF_SQES);
  char text[16] = "";
  memset(asked, 0, sizeof *asked);
  asked->opcode = IORING_OP_READ;
  asked->flags = IOSQE_ASYNC;
  asked->fd = ends[0];
  asked->addr = (uintptr_t)text;
  asked->len = sizeof text;
  *at(submissions, ring.sq_off.array) = 0;
  __atomic_store_n(at(submissions, ring.sq_off.tail), 1, __ATOMIC_SEQ_CST);
  syscall(SYS_io_uring_enter, fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
  while (__atomic_load_n(at(submissions, ring.sq_off.head), __ATOMIC_ACQUIRE) == 0) usleep(1000);
  usleep(20000);  // until the thread waits that reads
  puts("ready");
  fflush(stdout);

  char line[16];
  if (fgets(line, sizeof line, stdin) == NULL || write(ends[1], "hello", 5) != 5) return 1;
  unsigned* const head = at(completions, ring.cq_off.head);
  while (__atomic_load_n(at(completions, ring.cq_off.tail), __ATOMIC_ACQUIRE) == *head)
    usleep(1000);
  const struct io_uring_cqe* done = (struct io_uring_cqe*)(completions + ring.cq_off.cqes);
  printf("%d %s\n", done[*head & (ring.cq_entries - 1)].res, text);
  return 0;
}
