// Calls functions through pointers for ever, and says in a file that it has mapped (FILE) how many
// times until now: whoever kills it knows what it did. Between two calls lie zero to 60 conditional
// branches that are taken or not by chance.
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t sum;

__attribute__((noinline)) static void called_one(void) { ++sum; }
__attribute__((noinline, aligned(65536))) static void called_two(void) { sum += 2; }

static void (*volatile const called[2])(void) = {called_one, called_two};

static uint64_t random_bits(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int fd = open(argv[1], O_RDWR);
  volatile uint64_t* const done =
      mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (done == MAP_FAILED) return 3;
  uint64_t state = 88172645463325252;
  for (uint64_t times = 1;; ++times) {
    uint64_t bits = random_bits(&state) | 1;
    for (bits >>= bits >> 58; bits > 1; bits >>= 1) {
      if ((bits & 1) != 0) ++sum;
    }
    called[state >> 3 & 1]();
    *done = times;
  }
}
