#include "output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace hodo::perfdata {
namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::not_permitted;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::no_space;
    default:
      return ErrorCode::io;
  }
}

// An Error for an errno: "cannot create PATH: No such file or directory".
std::unexpected<Error> os_error(const std::string& what, int error) {
  return fail(code_of(error), what + ": " + std::generic_category().message(error));
}

Status rename_old(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return {};
  const std::string old = path + ".old";
  if (::rename(path.c_str(), old.c_str()) != 0) {
    return os_error("cannot keep the old recording as " + old, errno);
  }
  return {};
}

// Readers see by it that the file is still being written (being_written.h). It goes with the last
// copy of the descriptor, however its owner ends. Where the file system knows no locks, nobody can
// tell.
void lock(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  static_cast<void>(::fcntl(fd, F_OFD_SETLK, &whole));
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? std::string(resolved) : path;
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, bool keep_old) {
  if (keep_old) {
    if (auto status = rename_old(path); !status) return std::unexpected(status.error());
  }
  std::unique_ptr<OutputFile> out(new OutputFile);
  out->fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
  if (out->fd_ < 0) return os_error("cannot create " + path, errno);
  if (::lseek(out->fd_, 0, SEEK_SET) != 0) {
    return fail(ErrorCode::usage, path + " is a pipe or a terminal; a recording needs a file");
  }
  lock(out->fd_);
  out->piece_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(kPiece, kPiece)));
  if (!out->piece_) return os_error("cannot write to " + path, ENOMEM);
  static_cast<void>(::madvise(out->piece_.get(), kPiece, MADV_HUGEPAGE));  // small ones do, too
  out->path_ = absolute(path);
  return out;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status OutputFile::append(std::span<const std::span<const std::uint8_t>> blocks) {
  const std::uint64_t begin = size_;
  for (const auto& block : blocks) {
    if (auto status = copy(block, begin); !status) return status;
  }
  if (written_ == size_) whole_ = size_;
  return {};
}

// What is written ends inside an append() that began at `whole`.
Status OutputFile::copy(std::span<const std::uint8_t> block, std::uint64_t whole) {
  while (!block.empty()) {
    const std::uint64_t at = size_ % kPiece;
    const auto part = block.first(std::min<std::uint64_t>(block.size(), kPiece - at));
    std::memcpy(piece_.get() + at, part.data(), part.size());
    block = block.subspan(part.size());
    size_ += part.size();
    if (size_ % kPiece != 0) continue;
    if (auto status = write_held(whole); !status) return status;
  }
  return {};
}

Status OutputFile::flush() { return write_held(size_); }

std::span<const std::uint8_t> OutputFile::held() const {
  return {piece_.get() + written_ % kPiece, size_ - written_};
}

Status OutputFile::write_held(std::uint64_t whole) {
  const bool direct = held().size() == kPiece && written_ >= kCached && write_directly();
  if (!direct) {
    if (auto status = write_cached(held(), written_); !status) return cut(std::move(status));
  }
  written_ = size_;
  whole_ = whole;
  if (!direct) write_behind();
  return {};
}

// Best effort: the data size in the header does not cover the bytes that go anyway.
Status OutputFile::cut(Status status) {
  [[maybe_unused]] const int ignored = ::ftruncate(fd_, static_cast<off_t>(whole_));
  size_ = written_ = whole_;
  return status;
}

// What is held, a whole piece. False: it is still to be written, through the page cache.
bool OutputFile::write_directly() {
  constexpr std::uint64_t kTrial = 32 * kPiece;
  constexpr std::uint64_t kSlow = 4;  // ns a byte: slower than any disk that is not a turning one
  if (!direct_) return false;
  const int flags = ::fcntl(fd_, F_GETFL);
  const auto start = std::chrono::steady_clock::now();
  direct_ = ::fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0 &&
            ::pwrite(fd_, piece_.get(), kPiece, static_cast<off_t>(written_)) ==
                static_cast<ssize_t>(kPiece);
  ::fcntl(fd_, F_SETFL, flags);
  if (!direct_) return false;
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  direct_ns_ += static_cast<std::uint64_t>(took.count());
  direct_bytes_ += kPiece;
  direct_ = direct_bytes_ < kTrial || direct_ns_ / kSlow < direct_bytes_;
  return true;
}

Status OutputFile::write_cached(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return os_error("cannot write to " + path_, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

// A recording of gigabytes would fill memory with pages that nobody reads: slow where the machine
// has to find them first (virtual machines above all), and at the cost of everybody else's. So the
// disk begins early, and what it has got may leave memory. Hints only: nothing waits, and what they
// come to does not matter.
void OutputFile::write_behind() {
  constexpr std::uint64_t kStep = 16 << 20;
  constexpr std::uint64_t kHeader = 1 << 20;  // is written to again
  if (size_ < kCached || size_ - handed_over_ < kStep) return;
  const auto offset = [](std::uint64_t at) { return static_cast<off_t>(at); };
  ::sync_file_range(fd_, offset(handed_over_), offset(size_ - handed_over_), SYNC_FILE_RANGE_WRITE);
  handed_over_ = size_;
  if (size_ <= kCached + kHeader) return;
  // From the beginning on: earlier calls leave pages alone that were not yet on the disk.
  static_cast<void>(::posix_fadvise(fd_, offset(kHeader), offset(size_ - kCached - kHeader),
                                    POSIX_FADV_DONTNEED));
}

Status OutputFile::patch(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  return write_cached(bytes, offset);
}

Status OutputFile::close() {
  if (fd_ < 0) return {};
  struct stat st{};
  const bool removed = ::fstat(fd_, &st) == 0 && st.st_nlink == 0;
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    return os_error("cannot finish " + path_, errno);
  }
  if (removed) return fail(ErrorCode::not_found, path_ + " was removed while it was written");
  return {};
}

}  // namespace hodo::perfdata
