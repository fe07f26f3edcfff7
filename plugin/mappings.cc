#include "mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace hodo::plugin {
namespace {

std::uint64_t take_number(std::string_view& text, int base, char until) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  const auto end = text.find(until);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return value;
}

// "start-end perms offset major:minor inode   path", in host addresses.
Mapping parse_line(std::string_view line) {
  Mapping m;
  m.where.start = take_number(line, 16, '-');
  m.where.length = take_number(line, 16, ' ') - m.where.start;
  m.where.shared = line.substr(0, line.find(' ')).ends_with('s') ? 1 : 0;
  take_number(line, 16, ' ');
  m.where.offset = take_number(line, 16, ' ');
  m.where.major = static_cast<std::uint32_t>(take_number(line, 16, ':'));
  m.where.minor = static_cast<std::uint32_t>(take_number(line, 16, ' '));
  m.where.inode = take_number(line, 10, ' ');
  const auto path = line.find_first_not_of(' ');
  if (path != line.npos) m.path = line.substr(path);
  return m;
}

// seq_path() in the kernel's fs/proc/task_mmu.c writes a newline as \012, which a name may have
// itself: the link tells.
void undo_escapes(Mapping& m) {
  constexpr std::string_view kNewline = "\\012";
  if (m.path.find(kNewline) == m.path.npos) return;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/proc/self/map_files/%" PRIx64 "-%" PRIx64,
                m.where.start, m.end());
  std::string target(PATH_MAX, '\0');
  const ssize_t size = readlink(name.data(), target.data(), target.size());
  if (size > 0) {
    m.path = target.substr(0, static_cast<std::size_t>(size));
    return;
  }
  for (std::size_t at = 0; (at = m.path.find(kNewline, at)) != m.path.npos; ++at) {
    m.path.replace(at, kNewline.size(), "\n");
  }
}

bool same_place(const Mapping& a, const Mapping& b) {
  return std::memcmp(&a.where, &b.where, sizeof(a.where)) == 0 && a.path == b.path;
}

// Both show the same bytes of the same file at `address`.
bool same_file_at(const Mapping& a, const Mapping& b, std::uint64_t address) {
  return a.contains(address) && b.contains(address) && a.path == b.path &&
         a.where.inode == b.where.inode && a.where.major == b.where.major &&
         a.where.minor == b.where.minor &&
         a.where.start - a.where.offset == b.where.start - b.where.offset;
}

// What is known of a mapping that others of `old` have been split from, or joined to.
void take_over(Mapping& m, const std::vector<Mapping>& old) {
  const auto known_at = [&](std::uint64_t address) -> const Mapping* {
    const auto found = std::find_if(old.begin(), old.end(), [&](const Mapping& o) {
      return o.reported && same_file_at(o, m, address);
    });
    return found == old.end() ? nullptr : &*found;
  };
  const Mapping* first = known_at(m.where.start);
  const Mapping* last = known_at(m.end() - 1);
  if (first == nullptr || last == nullptr) return;
  m.file = first->file;
  m.opened = m.reported = true;
  m.was_writable = first->was_writable || last->was_writable;
}

}  // namespace

std::shared_ptr<FileBytes> FileBytes::open(const std::string& path, std::uint64_t inode,
                                           std::uint32_t major, std::uint32_t minor) {
  if (!path.starts_with('/')) return nullptr;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat st{};
  const bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode &&
                    gnu_dev_major(st.st_dev) == major && gnu_dev_minor(st.st_dev) == minor;
  void* data = MAP_FAILED;
  if (same && st.st_size > 0) {
    data = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (data == MAP_FAILED) return nullptr;
  auto file = std::make_shared<FileBytes>();
  file->data_ = static_cast<const std::uint8_t*>(data);
  file->size_ = static_cast<std::size_t>(st.st_size);
  return file;
}

FileBytes::~FileBytes() {
  if (data_ != nullptr) munmap(const_cast<std::uint8_t*>(data_), size_);
}

bool FileBytes::same(std::uint64_t offset, std::span<const std::uint8_t> bytes) const {
  if (offset > size_ || bytes.size() > size_ - offset) return false;
  return std::memcmp(data_ + offset, bytes.data(), bytes.size()) == 0;
}

Mapping* Mappings::find(std::uint64_t address) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (stale_) rescan();
    const auto after =
        std::upper_bound(sorted_.begin(), sorted_.end(), address,
                         [](std::uint64_t a, const Mapping& m) { return a < m.where.start; });
    if (after != sorted_.begin() && std::prev(after)->contains(address)) {
      Mapping& m = *std::prev(after);
      if (!std::exchange(m.opened, true)) {
        m.file = FileBytes::open(m.path, m.where.inode, m.where.major, m.where.minor);
      }
      return &m;
    }
    stale_ = true;
  }
  return nullptr;
}

std::vector<Mapping*> Mappings::reported_in(std::uint64_t start, std::uint64_t end) {
  std::vector<Mapping*> out;
  for (Mapping& m : sorted_) {
    if (m.reported && m.where.start < end && m.end() > start) out.push_back(&m);
  }
  return out;
}

void Mappings::rescan() {
  stale_ = false;
  const std::vector<Mapping> old = std::exchange(sorted_, {});
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    Mapping m = parse_line(line);
    undo_escapes(m);
    m.where.start -= guest_.base();
    const auto known =
        std::find_if(old.begin(), old.end(), [&](const Mapping& o) { return same_place(o, m); });
    if (known != old.end()) {
      m = *known;
    } else if (m.where.inode != 0) {
      take_over(m, old);
    }
    sorted_.push_back(std::move(m));
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [](const Mapping& a, const Mapping& b) { return a.where.start < b.where.start; });
}

}  // namespace hodo::plugin
