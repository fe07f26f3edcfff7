#include "mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sys.h"

namespace hodo::engine {
namespace {

constexpr std::size_t kMost = 1 << 17;  // twice what Linux allows a process by default
constexpr std::size_t kBuffer = 16 << 10;

Mapping* mappings = nullptr;
std::size_t count = 0;
bool stale = true;

// One line: "7f12a000-7f12b000 r-xp 00001000 fe:00 1234   /usr/bin/x". Takes it byte by byte, so
// that a line may be split between two reads.
class Parser {
 public:
  void take(char c) {
    if (c == '\n') {
      if (count < kMost) mappings[count++] = line_;
      line_ = {};
      field_ = column_ = 0;
    } else if (field_ == 0 && c == '-') {
      field_ = 1;
    } else if (field_ < 6 && c == ' ') {
      if (column_ > 0) ++field_;
      column_ = 0;
    } else {
      field(c);
      ++column_;
    }
  }

 private:
  void field(char c) {
    const auto digit = static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (field_ == 0) line_.start = line_.start << 4 | digit;
    if (field_ == 1) line_.end = line_.end << 4 | digit;
    if (field_ == 2 && c == 'r') line_.prot |= PROT_READ;
    if (field_ == 2 && c == 'w') line_.prot |= PROT_WRITE;
    if (field_ == 2 && c == 'x') line_.prot |= PROT_EXEC;
    if (field_ == 2 && c == 's') line_.shared = true;
    if (field_ == 5 && c != '0') line_.file = true;  // the inode
  }

  Mapping line_;
  unsigned field_ = 0, column_ = 0;
};

bool read_all() {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"),
                                O_RDONLY | O_CLOEXEC);
  if (failed(file)) return false;
  count = 0;
  Parser parser;
  static char buffer[kBuffer];
  for (;;) {
    const long got = raw_syscall(SYS_read, file, reinterpret_cast<long>(buffer), kBuffer);
    if (got <= 0) break;
    for (long i = 0; i < got; ++i) parser.take(buffer[i]);
  }
  raw_syscall(SYS_close, file);
  stale = false;
  return true;
}

}  // namespace

const Mapping* find_mapping(std::uint64_t address) {
  if (mappings == nullptr) {
    const long got = raw_syscall(SYS_mmap, 0, kMost * sizeof(Mapping), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(got)) die("no memory for its tables", static_cast<std::uint64_t>(-got));
    mappings = reinterpret_cast<Mapping*>(got);
  }
  if (stale && !read_all()) die("/proc/self/maps cannot be read: code cannot be told from data");
  std::size_t low = 0, high = count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (mappings[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && mappings[low].start <= address ? &mappings[low] : nullptr;
}

void mappings_changed() { stale = true; }

}  // namespace hodo::engine
