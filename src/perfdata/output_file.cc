#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "mapped_file.h"

namespace hodo::perfdata {
namespace {

Status rename_old(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return {};
  const std::string old = path + ".old";
  if (::rename(path.c_str(), old.c_str()) != 0) {
    return os_error("cannot keep the old recording as " + old, errno);
  }
  return {};
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? std::string(resolved) : path;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, bool keep_old) {
  if (keep_old) {
    if (auto status = rename_old(path); !status) return std::unexpected(status.error());
  }
  OutputFile out;
  out.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
  if (out.fd_ < 0) return os_error("cannot create " + path, errno);
  if (::lseek(out.fd_, 0, SEEK_SET) != 0) {
    return fail(ErrorCode::usage, path + " is a pipe or a terminal; a recording needs a file");
  }
  out.path_ = absolute(path);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      handed_over_(other.handed_over_),
      path_(std::move(other.path_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(handed_over_, other.handed_over_);
  std::swap(path_, other.path_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status OutputFile::write_all(std::span<const std::span<const std::uint8_t>> blocks,
                             std::uint64_t offset) {
  constexpr std::size_t kBatch = 64;  // far below IOV_MAX
  std::size_t block = 0, done = 0;    // done: bytes of blocks[block]
  while (block < blocks.size()) {
    iovec vectors[kBatch];
    int count = 0;
    for (std::size_t i = block; i < blocks.size() && count < static_cast<int>(kBatch); ++i) {
      const auto rest = i == block ? blocks[i].subspan(done) : blocks[i];
      vectors[count++] = {const_cast<std::uint8_t*>(rest.data()), rest.size()};
    }
    const ssize_t written = ::pwritev(fd_, vectors, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error("cannot write to " + path_, errno);
    offset += static_cast<std::uint64_t>(written);
    done += static_cast<std::size_t>(written);
    const std::size_t before = block;
    while (block < blocks.size() && done >= blocks[block].size()) done -= blocks[block++].size();
    if (written == 0 && block == before) return os_error("cannot write to " + path_, EIO);
  }
  return {};
}

Status OutputFile::append(std::span<const std::span<const std::uint8_t>> blocks) {
  auto status = write_all(blocks, size_);
  if (!status) {
    // Best effort: the data size in the header does not cover these bytes anyway.
    [[maybe_unused]] const int ignored = ::ftruncate(fd_, static_cast<off_t>(size_));
    return status;
  }
  for (const auto& block : blocks) size_ += block.size();
  write_behind();
  return {};
}

// A recording of gigabytes would fill memory with pages that nobody reads: slow where the machine
// has to find them first (virtual machines above all), and at the cost of everybody else's. So the
// disk begins early, and what it has got may leave memory. Hints only: nothing waits, and what they
// come to does not matter.
void OutputFile::write_behind() {
  constexpr std::uint64_t kStep = 16 << 20;
  constexpr std::uint64_t kKept = 64 << 20;   // the newest part; smaller files stay whole
  constexpr std::uint64_t kHeader = 1 << 20;  // is written to again
  if (size_ < kKept || size_ - handed_over_ < kStep) return;
  const auto offset = [](std::uint64_t at) { return static_cast<off_t>(at); };
  ::sync_file_range(fd_, offset(handed_over_), offset(size_ - handed_over_), SYNC_FILE_RANGE_WRITE);
  handed_over_ = size_;
  if (size_ <= kKept + kHeader) return;
  // From the beginning on: earlier calls leave pages alone that were not yet on the disk.
  static_cast<void>(
      ::posix_fadvise(fd_, offset(kHeader), offset(size_ - kKept - kHeader), POSIX_FADV_DONTNEED));
}

Status OutputFile::patch(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  return write_all({&bytes, 1}, offset);
}

Status OutputFile::close() {
  if (fd_ < 0) return {};
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    return os_error("cannot finish " + path_, errno);
  }
  return {};
}

}  // namespace hodo::perfdata
