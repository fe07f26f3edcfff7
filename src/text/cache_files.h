// What the files of a cache have in common, however they are read.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hodo::text {

class CacheFile {
 public:
  explicit CacheFile(int fd) : fd_(fd) {}
  ~CacheFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Ours, and nobody else may write to it.
inline bool is_private(const struct stat& st) {
  return st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool write_all(int fd, std::span<const std::uint8_t> bytes);
// As many as there are.
std::vector<std::uint8_t> read_at(int fd, std::uint64_t offset, std::size_t size);

// A zstd frame with a checksum; empty: there is no memory.
std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> bytes);
// Bytes that the frame of so many has at most.
std::uint64_t most_compressed(std::uint64_t size);
// nullopt: it is no frame, or does not become as large.
std::optional<std::vector<std::uint8_t>> decompressed(std::span<const std::uint8_t> frame,
                                                      std::uint64_t size);

}  // namespace hodo::text
