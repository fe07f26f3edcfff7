// REP string instructions: repeat without branching, stop early, run zero times, fault never.
#include <stdio.h>
#include <string.h>

static unsigned char from[300];
static unsigned char to[300];

static void rep_movsb(void* out, const void* in, size_t n) {
  __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(n) : : "memory");
}

static void rep_stosb(void* out, int byte, size_t n) {
  __asm__ volatile("rep stosb" : "+D"(out), "+c"(n) : "a"(byte) : "memory");
}

static size_t repne_scasb(const void* in, int byte, size_t n) {
  const size_t length = n;
  __asm__ volatile("repne scasb" : "+D"(in), "+c"(n) : "a"(byte) : "memory", "cc");
  return length - n;
}

static size_t repe_cmpsb(const void* a, const void* b, size_t n) {
  const size_t length = n;
  __asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
  return length - n;
}

int main(void) {
  size_t sum = 0;
  for (size_t n = 0; n < 40; ++n) {
    rep_stosb(from, (int)n, n * 7);
    rep_movsb(to, from, n * 5);
    sum += repne_scasb(from, (int)n + 1, n);
    sum += repe_cmpsb(from, to, n * 7);
  }
  printf("sum %zu\n", sum);
  return 0;
}
