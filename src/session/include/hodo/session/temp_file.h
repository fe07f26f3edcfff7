// Room on disk for data that need not be in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hodo/base/result.h"

namespace hodo::session {

// A file without a name in TMPDIR (or /var/tmp): written once from front to back, then mapped. It
// is gone when this is, or the process.
class TempFile {
 public:
  TempFile() = default;
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  // All return io, not_permitted or no_space as the system says.
  Status open();
  Status append(std::span<const std::uint8_t> bytes);
  // All that was appended; valid as long as this lives. Once, at the end.
  Result<std::span<const std::uint8_t>> map();

  std::uint64_t size() const { return size_; }

 private:
  int fd_ = -1;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hodo::session
