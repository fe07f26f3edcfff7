#include "mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "channel.h"
#include "hodo/base/page.h"
#include "hodo/relay/pagemap.h"
#include "memory.h"
#include "own_files.h"
#include "sys.h"

namespace hodo::engine {
namespace {

constexpr std::size_t kUsual = 1 << 17;  // twice what Linux allows a process by default
constexpr std::size_t kBuffer = 16 << 10;

// In order of their addresses, with a gap where the last change was: what maps one piece below the
// other, as the kernel places them, moves none of the others.
class Table {
 public:
  bool is_there() const { return of_ != nullptr; }
  void map() { of_ = static_cast<Mapping*>(map_memory(most_ * sizeof(Mapping))); }
  std::size_t size() const { return count_; }
  const Mapping& operator[](std::size_t at) const { return of_[at < gap_ ? at : at + gap_size()]; }
  void clear() { gap_ = count_ = 0; }

  // Puts `count` others in the place of `gone` of them. False: there is no room.
  bool replace(std::size_t at, std::size_t gone, const Mapping* with, std::size_t count) {
    if (count_ - gone + count > most_ && !grow()) return false;
    move_gap(at);
    std::copy(with, with + count, of_ + gap_);
    gap_ += count;
    count_ += count - gone;
    return true;
  }

 private:
  std::size_t gap_size() const { return most_ - count_; }
  // Where more are allowed (vm.max_map_count).
  bool grow() {
    auto* const larger = static_cast<Mapping*>(try_map_memory(2 * most_ * sizeof(Mapping)));
    if (larger == nullptr) return false;
    move_gap(count_);
    std::copy(of_, of_ + count_, larger);
    unmap_memory(reinterpret_cast<std::uint64_t>(of_), most_ * sizeof(Mapping));
    of_ = larger;
    most_ *= 2;
    return true;
  }
  void move_gap(std::size_t to) {
    Mapping* const behind = of_ + gap_size();
    if (to < gap_) std::memmove(behind + to, of_ + to, (gap_ - to) * sizeof(Mapping));
    if (to > gap_) std::memmove(of_ + gap_, behind + gap_, (to - gap_) * sizeof(Mapping));
    gap_ = to;
  }

  Mapping* of_ = nullptr;
  std::size_t most_ = kUsual, gap_ = 0, count_ = 0;
};

Table mappings;
bool stale = true;

// One line: "7f12a000-7f12b000 r-xp 00001000 fe:00 1234   /usr/bin/x". Takes it byte by byte, so
// that a line may be split between two reads. What follows the inode is the path, blanks included.
class Parser {
 public:
  // True: the line is at its end, and line() and path() say what it was, until the next byte.
  bool take(char c) {
    if (done_) {
      line_ = {};
      field_ = column_ = 0;
      path_bytes_ = 0;
    }
    done_ = c == '\n';
    if (done_) {
      line_.kind = kind();
    } else if (field_ == 0 && c == '-') {
      field_ = 1;
    } else if (field_ == kDevice && c == ':') {
      line_.major = line_.minor;
      line_.minor = 0;
    } else if (field_ < kPath && c == ' ') {
      if (column_ > 0) ++field_;
      column_ = 0;
    } else if (field_ != kPath || column_ > 0 || c != ' ') {
      field(c);
      ++column_;
    }
    return done_;
  }
  const Mapping& line() const { return line_; }
  std::string_view path() const { return {path_, path_bytes_}; }

 private:
  enum Field : unsigned { kStart, kEnd, kRights, kOffset, kDevice, kInode, kPath };

  void field(char c) {
    const auto digit = static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    switch (field_) {
      case kStart:
        line_.start = line_.start << 4 | digit;
        return;
      case kEnd:
        line_.end = line_.end << 4 | digit;
        return;
      case kRights:
        if (c == 'r') line_.prot |= PROT_READ;
        if (c == 'w') line_.prot |= PROT_WRITE;
        if (c == 'x') line_.prot |= PROT_EXEC;
        if (c == 's') line_.shared = true;
        return;
      case kOffset:
        line_.offset = line_.offset << 4 | digit;
        return;
      case kDevice:
        line_.minor = line_.minor << 4 | digit;
        return;
      case kInode:
        line_.inode = line_.inode * 10 + digit;
        line_.file = line_.inode != 0;
        return;
      default:
        if (path_bytes_ < sizeof(path_)) path_[path_bytes_++] = c;
    }
  }

  Mapping::Kind kind() const {
    if (path() == "[heap]") return Mapping::Kind::heap;
    if (path() == "[stack]") return Mapping::Kind::stack;
    if (path() == "[uprobes]") return Mapping::Kind::probes;
    if (path() == "[uprobes-trampoline]") return Mapping::Kind::probe_calls;
    return path() == "[vdso]" ? Mapping::Kind::vdso : Mapping::Kind::other;
  }

  Mapping line_;
  unsigned field_ = 0, column_ = 0;
  bool done_ = false;
  std::size_t path_bytes_ = 0;
  char path_[4096];
};

// Under the engine's lock, so one is enough; it would not fit on the stack.
Parser parser;

template <class Visit>
bool each_line(Visit visit) {
  return !failed(with_descriptor([&] {
    const long file = open_mappings();
    if (failed(file)) return file;
    parser = {};
    static char buffer[kBuffer];
    for (;;) {
      const long got = raw_syscall(SYS_read, file, reinterpret_cast<long>(buffer), kBuffer);
      if (got <= 0) break;
      for (long i = 0; i < got; ++i) {
        if (parser.take(buffer[i])) visit(parser.line(), parser.path());
      }
    }
    raw_syscall(SYS_close, file);
    return 0L;
  }));
}

bool read_all() {
  bool first = true;
  const bool done = each_line([&](const Mapping& line, std::string_view) {
    if (std::exchange(first, false)) mappings.clear();
    mappings.replace(mappings.size(), 0, &line, 1);
  });
  stale = false;
  return done || mappings.size() != 0;
}

// The first mapping that ends behind `address`.
std::size_t find_behind(std::uint64_t address) {
  std::size_t low = 0, high = mappings.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (mappings[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Puts `with` in the place of what was between its ends, or nothing there.
void replace(std::uint64_t start, std::uint64_t end, const Mapping* with) {
  if (stale || end <= start) return;
  const std::size_t first = find_behind(start);
  std::size_t behind = first;
  while (behind < mappings.size() && mappings[behind].start < end) ++behind;
  Mapping pieces[3];
  std::size_t made = 0;
  if (first < behind && mappings[first].start < start) {
    pieces[made] = mappings[first];
    pieces[made++].end = start;
  }
  if (with != nullptr) pieces[made++] = *with;
  if (first < behind && mappings[behind - 1].end > end) {
    pieces[made] = mappings[behind - 1];
    pieces[made++].start = end;
  }
  if (!mappings.replace(first, behind - first, pieces, made)) stale = true;
}

char* put_hex(char* to, std::uint64_t value) {
  int shift = 60;
  while (shift > 0 && value >> shift == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[value >> shift & 15];
  return to;
}

// seq_path() in the kernel's fs/proc/task_mmu.c writes a newline as \012, which a name may have
// itself: the link tells.
std::string_view unescaped(const Mapping& line, std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  if (std::search(path.begin(), path.end(), kNewline.begin(), kNewline.end()) == path.end()) {
    return path;
  }
  static char target[4096];
  constexpr std::string_view kFolder = "/proc/self/map_files/";
  char link[64] = {};
  char* at = put_hex(std::copy(kFolder.begin(), kFolder.end(), link), line.start);
  *at++ = '-';
  put_hex(at, line.end);
  const long size = raw_syscall(SYS_readlink, reinterpret_cast<long>(link),
                                reinterpret_cast<long>(target), sizeof(target));
  return failed(size) ? path : std::string_view(target, static_cast<std::size_t>(size));
}

}  // namespace

std::uint64_t page_end(std::uint64_t start, std::uint64_t bytes) {
  return start + std::min(bytes + kPage - 1, ~start) / kPage * kPage;
}

const Mapping* find_mapping(std::uint64_t address) {
  if (!mappings.is_there()) mappings.map();
  const bool fresh = stale;
  if (stale && !read_all()) die("/proc/self/maps cannot be read: code cannot be told from data");
  std::size_t at = find_behind(address);
  const auto found = [&] { return at < mappings.size() && mappings[at].start <= address; };
  // Stacks and the heap grow, and other processes may have mapped something here.
  if (!found() && !fresh && read_all()) at = find_behind(address);
  return found() ? &mappings[at] : nullptr;
}

bool nothing_is_known_below(std::uint64_t address) {
  if (stale) return true;
  const std::size_t at = find_behind(address - 1);
  return at == mappings.size() || mappings[at].start >= address;
}

void visit_files(FileVisitor visit, void* owner) {
  each_line([&](const Mapping& line, std::string_view path) {
    if (line.file) visit(owner, line, unescaped(line, path));
  });
}

bool is_page_of_file(std::uint64_t address) {
  // In memory, or it would say nothing.
  static_cast<void>(*reinterpret_cast<const volatile std::uint8_t*>(address));
  std::uint64_t entry = 0;
  const long opened = with_descriptor([&] {
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/thread-self/pagemap"),
                    O_RDONLY | O_CLOEXEC);
    if (failed(file)) return file;
    raw_syscall(SYS_pread64, file, reinterpret_cast<long>(&entry), sizeof(entry),
                static_cast<long>(relay::pagemap_offset(address)));
    return raw_syscall(SYS_close, file);
  });
  return failed(opened) ? is_page_of_file_to_recorder(address) : relay::is_page_of_file(entry);
}

void note_mapped(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot, bool shared,
                 bool file) {
  const std::uint64_t end = page_end(start, bytes);
  Mapping made;
  made.start = start;
  made.end = end;
  made.prot = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
  made.shared = shared;
  made.file = file;
  replace(start, end, &made);
}

void note_unmapped(std::uint64_t start, std::uint64_t bytes) {
  replace(start, page_end(start, bytes), nullptr);
}

void note_moved(std::uint64_t from, std::uint64_t from_bytes, std::uint64_t to,
                std::uint64_t to_bytes) {
  if (stale) return;
  const std::size_t at = find_behind(from);
  // Since 6.17 Linux moves several mappings at once.
  if (at == mappings.size() || mappings[at].start > from || mappings[at].end - from < from_bytes) {
    return mappings_changed();
  }
  const Mapping old = mappings[at];
  note_unmapped(from, from_bytes);
  note_mapped(to, to_bytes, old.prot, old.shared, old.file);
}

void note_protected(std::uint64_t start, std::uint64_t bytes, std::uint32_t prot) {
  const std::uint64_t end = page_end(start, bytes);
  while (!stale && start < end) {
    const std::size_t at = find_behind(start);
    if (at == mappings.size() || mappings[at].start >= end) return;
    Mapping part = mappings[at];
    part.start = std::max(part.start, start);
    part.end = std::min(part.end, end);
    part.prot = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
    replace(part.start, part.end, &part);
    start = part.end;
  }
}

void mappings_changed() { stale = true; }

}  // namespace hodo::engine
