#include "joined.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace hodo::session {
namespace {

std::unexpected<Error> system_error(const std::string& what) {
  int error = errno;
  ErrorCode code = error == ENOSPC || error == EDQUOT ? ErrorCode::no_space : ErrorCode::io;
  return fail(code, fmt::format("{}: {}; TMPDIR names the folder for temporary data", what,
                                std::generic_category().message(error)));
}

// A run of parts without a gap: [first, last).
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
  std::uint64_t bytes = 0;
};

std::vector<Run> runs_of(std::span<const Part> parts) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].gap_before) runs.push_back({.first = i});
    runs.back().last = i + 1;
    runs.back().bytes += parts[i].bytes.size();
  }
  return runs;
}

}  // namespace

// A mapped file without a name.
class Joined::Store {
 public:
  ~Store() {
    if (data_ != MAP_FAILED) munmap(data_, size_);
    if (fd_ >= 0) close(fd_);
  }

  Status open() {
    const char* folder = std::getenv("TMPDIR");
    std::string where = folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
    fd_ = ::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
      std::string name = where + "/hodo-XXXXXX";
      fd_ = mkostemp(name.data(), O_CLOEXEC);
      if (fd_ >= 0) unlink(name.c_str());
    }
    if (fd_ < 0) return system_error("making a temporary file in " + where);
    return {};
  }

  Status append(std::span<const std::uint8_t> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
      ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error("writing a temporary file");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  Result<std::span<const std::uint8_t>> map() {
    data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
    if (data_ == MAP_FAILED) return system_error("mapping a temporary file");
    madvise(data_, size_, MADV_SEQUENTIAL);
    return std::span(static_cast<const std::uint8_t*>(data_), size_);
  }

 private:
  int fd_ = -1;
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

Result<Joined> Joined::make(std::span<const Part> parts) {
  Joined joined;
  std::vector<Run> runs = runs_of(parts);
  std::span<const std::uint8_t> copied;
  for (const Run& run : runs) {
    if (run.last - run.first < 2 || run.bytes == 0) continue;
    if (!joined.store_) {
      joined.store_ = std::make_shared<Store>();
      if (Status status = joined.store_->open(); !status) return std::unexpected(status.error());
    }
    for (const Part& part : parts.subspan(run.first, run.last - run.first)) {
      Status status = joined.store_->append(part.bytes);
      if (!status) return std::unexpected(status.error());
    }
  }
  if (joined.store_) {
    auto mapped = joined.store_->map();
    if (!mapped) return std::unexpected(mapped.error());
    copied = *mapped;
  }
  for (const Run& run : runs) {
    const Part& head = parts[run.first];
    flow::Piece piece{.bytes = head.bytes, .offset = head.offset, .lost_before = head.lost_before};
    if (run.last - run.first >= 2 && run.bytes != 0) {
      piece.bytes = copied.first(run.bytes);
      copied = copied.subspan(run.bytes);
    }
    joined.pieces_.push_back(piece);
  }
  return joined;
}

}  // namespace hodo::session
