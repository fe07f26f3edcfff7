// Reading files that may change, shrink or be something else than files while we look at them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::image {

// What makes two opened files the same bytes: equal identities mean that nobody wrote in between.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;  // a writer can set mtime back, but not this
  std::uint64_t size = 0;

  auto operator<=>(const FileId&) const = default;
};

// An open regular file, read by pread: a file that shrinks gives short reads, where a mapping of it
// would give SIGBUS. Movable; closes itself. Safe for concurrent reads.
class RegularFile {
 public:
  // Errors: not_found, not_permitted or io as the system says; unsupported for what is no regular
  // file (never blocks on a FIFO or a device).
  static Result<RegularFile> open(const std::string& path);

  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  const FileId& id() const { return id_; }  // as of open()
  std::uint64_t size() const { return id_.size; }
  // Whether nobody has written to it since then; it may have lost its name.
  bool is_unwritten() const;
  int fd() const { return fd_; }

  // Fills `out` from the file's bytes at `offset`; gives the number read, less than asked only at
  // the file's end. Errors: io.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) const;

  // Fills all of `out`. Errors: io; truncated: the file ends before, or has become shorter since it
  // was opened, which the message then says.
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;

  // All of it. Errors: as read(); unsupported where the file is larger than `limit` bytes.
  Result<std::vector<std::uint8_t>> read_all(std::uint64_t limit) const;

 private:
  RegularFile(int fd, const FileId& id) : fd_(fd), id_(id) {}

  int fd_ = -1;
  FileId id_;
};

}  // namespace hodo::image
