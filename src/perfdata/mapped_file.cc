#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
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

}  // namespace

std::unexpected<Error> os_error(const std::string& what, int error) {
  return fail(code_of(error), what + ": " + std::generic_category().message(error));
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes to must not hang before it is refused.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return os_error("cannot open " + path, errno);
  struct stat st{};
  const bool known = ::fstat(fd, &st) == 0;
  const int stat_error = errno;
  Result<MappedFile> out;
  if (!known) {
    out = os_error("cannot look at " + path, stat_error);
  } else if (!S_ISREG(st.st_mode)) {
    out = fail(ErrorCode::unsupported, path + " is not a regular file; save the data to one first");
  } else if (st.st_size > 0) {
    const auto size = static_cast<std::size_t>(st.st_size);
    void* base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED) {
      out = os_error("cannot map " + path, errno);
    } else {
      out->bytes_ = {static_cast<const std::uint8_t*>(base), size};
    }
  }
  ::close(fd);
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  end = std::min(end, bytes_.size()) / page * page;
  if (begin >= end) return;
  // What cannot be let go stays: nothing but memory is lost.
  (void)::madvise(const_cast<std::uint8_t*>(bytes_.data() + begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace hodo::perfdata
