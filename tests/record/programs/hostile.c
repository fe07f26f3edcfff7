// Works against its own recording and nothing else: `hostile WHAT [WHERE [THEN]]`.
//
// WHAT   unmap protect remap move empty     takes the memory of its trace away
//        ones zeros random                  fills it
//        mem                                the same by /proc/thread-self/mem
//        old                                puts back what was there a while before
//        shorten                            the file that it is, found in /proc/self/map_files
//        none                               leaves it alone
// WHERE  all header records ring            of that memory; default: all
//        N                                  only its Nth page
//        thread                             all of the first thread's, from a second one
// THEN   kill                               ends by SIGKILL at once; default: works on and exits
//
// /proc/thread-self/maps shows what an emulator hides in /proc/self/maps.
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The memory is mapped in three parts: header and records; records again and ring; ring again.
struct area {
  uint64_t start, end, offset;
};

static int find_areas(const char* wanted, struct area* areas, int most) {
  FILE* maps = fopen("/proc/thread-self/maps", "r");
  char line[8192];
  int count = 0;
  while (maps != NULL && count < most && fgets(line, sizeof line, maps) != NULL) {
    struct area area;
    char rights[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64, &area.start, &area.end, rights,
               &area.offset) != 4) {
      continue;
    }
    if (rights[1] == 'w' && strstr(line, wanted) != NULL) areas[count++] = area;
  }
  if (maps != NULL) fclose(maps);
  return count;
}

static void work(void) {
  volatile int sum = 0;
  for (int i = 0; i < 200000; ++i) sum += i % 7 == 3 ? i : -i;
}

static struct area areas[64];
static int count;
static const char *what, *where;

static void by_file(uint64_t start, uint64_t size) {
  static char zeros[4096];
  const int fd = open("/proc/thread-self/mem", O_RDWR);
  for (uint64_t at = start; at < start + size; at += sizeof zeros) {
    if (pwrite(fd, zeros, sizeof zeros, (off_t)at) < 0) perror("mem");
  }
  close(fd);
}

static void shorten(void) {
  char path[100];
  snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, areas[0].start,
           areas[0].end);
  const int fd = open(path, O_RDWR);
  puts(fd < 0 ? "not permitted" : ftruncate(fd, 0) == 0 ? "shorter" : "refused");
  close(fd);
}

static void attack(uint64_t start, uint64_t size) {
  void* const at = (void*)start;
  if (strcmp(what, "unmap") == 0) munmap(at, size);
  if (strcmp(what, "protect") == 0) mprotect(at, size, PROT_NONE);
  if (strcmp(what, "remap") == 0) {
    mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  if (strcmp(what, "move") == 0)
    mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, 0x700000000000);
  if (strcmp(what, "empty") == 0) madvise(at, size, MADV_REMOVE);
  if (strcmp(what, "ones") == 0) memset(at, 0xff, size);
  if (strcmp(what, "zeros") == 0) memset(at, 0, size);
  if (strcmp(what, "mem") == 0) by_file(start, size);
  if (strcmp(what, "shorten") == 0) shorten();
  if (strcmp(what, "random") == 0) {
    unsigned seed = 1;
    for (uint64_t to = start; to < start + size; to += 4) {
      seed = seed * 1664525 + 1013904223;
      *(volatile uint32_t*)to = seed;
    }
  }
  if (strcmp(what, "old") == 0) {
    char* const kept = malloc(size);
    memcpy(kept, at, size);
    work();
    usleep(600000);  // the recorder has taken that: what is put back before it looks harms nothing
    memcpy(at, kept, size);
  }
}

static void* attack_all(void* unused) {
  (void)unused;
  const uint64_t header = areas[1].offset;
  if (strcmp(where, "header") == 0) {
    attack(areas[0].start, header);
  } else if (strcmp(where, "records") == 0) {
    attack(areas[0].start + header, areas[0].end - areas[0].start - header);
  } else if (strcmp(where, "ring") == 0) {
    attack(areas[2].start, areas[2].end - areas[2].start);
  } else if (where[0] >= '0' && where[0] <= '9') {
    attack(areas[0].start + 4096 * strtoull(where, NULL, 10), 4096);
  } else {
    for (int i = 0; i < 3; ++i) attack(areas[i].start, areas[i].end - areas[i].start);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  what = argv[1];
  where = argc > 2 ? argv[2] : "all";
  work();
  count = find_areas("hodo-channel", areas, 64);
  printf("%d areas\n", count);
  fflush(stdout);
  if (count < 3) return 3;
  usleep(600000);  // the recorder has all that was sealed
  work();
  if (strcmp(where, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, attack_all, NULL) != 0) return 4;
    pthread_join(thread, NULL);
  } else {
    attack_all(NULL);
  }
  if (argc > 3) kill(getpid(), SIGKILL);
  work();
  puts("still here");
  return 0;
}
