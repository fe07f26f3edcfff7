#include "hodo/session/temp_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace hodo::session {
namespace {

std::unexpected<Error> system_error(const std::string& what) {
  int error = errno;
  ErrorCode code = error == ENOSPC || error == EDQUOT  ? ErrorCode::no_space
                   : error == EACCES || error == EROFS ? ErrorCode::not_permitted
                                                       : ErrorCode::io;
  return fail(code, fmt::format("{}: {}; TMPDIR names the folder for temporary data", what,
                                std::generic_category().message(error)));
}

}  // namespace

TempFile::~TempFile() {
  if (data_ != nullptr) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

Status TempFile::open() {
  const char* folder = std::getenv("TMPDIR");
  std::string where = folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
  fd_ = ::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    // A file system that knows no files without a name.
    std::string name = where + "/hodo-XXXXXX";
    fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) unlink(name.c_str());
  }
  if (fd_ < 0) return system_error("making a temporary file in " + where);
  return {};
}

Status TempFile::append(std::span<const std::uint8_t> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("writing a temporary file");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::span<const std::uint8_t>> TempFile::map() {
  if (size_ == 0) return std::span<const std::uint8_t>();
  void* data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) return system_error("mapping a temporary file");
  data_ = data;
  return std::span(static_cast<const std::uint8_t*>(data), size_);
}

}  // namespace hodo::session
