// Looks for its trace's memory and destroys it, then goes on: `hostile unmap|ones|zeros|random`.
// /proc/thread-self/maps shows what an emulator hides in /proc/self/maps.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct area {
  uint64_t start, end;
};

static int find_areas(const char* wanted, struct area* areas, int most) {
  FILE* maps = fopen("/proc/thread-self/maps", "r");
  char line[8192];
  int count = 0;
  while (maps != NULL && count < most && fgets(line, sizeof line, maps) != NULL) {
    struct area area;
    char rights[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &area.start, &area.end, rights) != 3) continue;
    if (rights[1] == 'w' && strstr(line, wanted) != NULL) areas[count++] = area;
  }
  if (maps != NULL) fclose(maps);
  return count;
}

static void work(void) {
  volatile int sum = 0;
  for (int i = 0; i < 200000; ++i) sum += i % 7 == 3 ? i : -i;
}

int main(int argc, char** argv) {
  static struct area areas[64];
  if (argc != 2) return 2;
  work();
  const int count = find_areas("hodo-channel", areas, 64);
  printf("%d areas\n", count);
  fflush(stdout);
  usleep(600000);  // what the recorder has not taken by now is lost with the rest
  unsigned seed = 1;
  for (int i = 0; i < count; ++i) {
    const uint64_t size = areas[i].end - areas[i].start;
    if (strcmp(argv[1], "unmap") == 0) munmap((void*)areas[i].start, size);
    if (strcmp(argv[1], "ones") == 0) memset((void*)areas[i].start, 0xff, size);
    if (strcmp(argv[1], "zeros") == 0) memset((void*)areas[i].start, 0, size);
    if (strcmp(argv[1], "random") == 0) {
      for (uint64_t at = areas[i].start; at < areas[i].end; at += 4) {
        seed = seed * 1664525 + 1013904223;
        *(volatile uint32_t*)at = seed;
      }
    }
  }
  work();
  puts("still here");
  return 0;
}
