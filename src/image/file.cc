#include "hodo/image/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace hodo::image {
namespace {

std::unexpected<Error> system_error(int error, const std::string& what) {
  const auto code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found
                    : error == EACCES || error == EPERM ? ErrorCode::not_permitted
                                                        : ErrorCode::io;
  return fail(code, what + ": " + std::generic_category().message(error));
}

std::int64_t nanoseconds(const timespec& t) {
  return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace

Result<RegularFile> RegularFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for one.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return system_error(errno, path + " cannot be opened");
  RegularFile file(fd, {});
  struct stat st{};
  if (::fstat(fd, &st) != 0) return system_error(errno, path + " cannot be examined");
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::unsupported, path + " is not a regular file");
  file.id_ = {.device = st.st_dev,
              .inode = st.st_ino,
              .mtime_ns = nanoseconds(st.st_mtim),
              .ctime_ns = nanoseconds(st.st_ctim),
              .size = static_cast<std::uint64_t>(st.st_size)};
  return file;
}

// Not by its ctime, which also tells of names that come and go.
bool RegularFile::is_unwritten() const {
  struct stat st{};
  return ::fstat(fd_, &st) == 0 && nanoseconds(st.st_mtim) == id_.mtime_ns &&
         static_cast<std::uint64_t>(st.st_size) == id_.size;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), id_(other.id_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(id_, other.id_);
  return *this;
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::size_t> RegularFile::read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size() && offset <= id_.size) {
    const ssize_t n =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "cannot read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Status RegularFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  const auto n = read_at(offset, out);
  if (!n) return std::unexpected(n.error());
  if (*n == out.size()) return {};
  struct stat st{};
  const bool known = ::fstat(fd_, &st) == 0;
  if (!known || static_cast<std::uint64_t>(st.st_size) >= size()) {
    return fail(ErrorCode::truncated, "the file ends before these bytes do", offset);
  }
  return fail(ErrorCode::truncated,
              "the file became shorter while it was read (was " + std::to_string(size()) +
                  " bytes, is " + std::to_string(st.st_size) + ")",
              offset);
}

Result<std::vector<std::uint8_t>> RegularFile::read_all(std::uint64_t limit) const {
  if (size() > limit) {
    return fail(ErrorCode::unsupported, "larger than " + std::to_string(limit) + " bytes");
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size()));
  if (Status status = read(0, bytes); !status) return std::unexpected(status.error());
  return bytes;
}

}  // namespace hodo::image
