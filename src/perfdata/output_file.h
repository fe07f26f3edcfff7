// The file under a Writer: grows by whole blocks and never keeps half of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hodo/base/result.h"

namespace hodo::perfdata {

class OutputFile {
 public:
  // Creates `path` (mode 0600). With keep_old a regular, non-empty file of that name is renamed to
  // PATH.old first, as perf record does. usage: not seekable; otherwise as the system says.
  static Result<OutputFile> create(const std::string& path, bool keep_old);

  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }  // absolute

  // All of `blocks` behind the end, or nothing: what did not fit is cut off again.
  Status append(std::span<const std::span<const std::uint8_t>> blocks);
  // Overwrites what is there.
  Status patch(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  // Some file systems report a full disk only here.
  Status close();

 private:
  Status write_all(std::span<const std::span<const std::uint8_t>> blocks, std::uint64_t offset);
  void write_behind();

  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t handed_over_ = 0;  // to the disk, as far as we have asked for it
  std::string path_;
};

}  // namespace hodo::perfdata
