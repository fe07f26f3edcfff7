// A regular file mapped read-only. Moving keeps the bytes where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hodo/base/result.h"

namespace hodo::perfdata {

class MappedFile {
 public:
  // not_found, not_permitted, io: as open(2) says; unsupported: not a regular file.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  // Lets go of the memory behind [begin, end) of the bytes; they stay readable.
  void release(std::size_t begin, std::size_t end) const;

 private:
  std::span<const std::uint8_t> bytes_;
};

// An Error for the current errno: "cannot open PATH: No such file or directory".
std::unexpected<Error> os_error(const std::string& what, int error);

}  // namespace hodo::perfdata
