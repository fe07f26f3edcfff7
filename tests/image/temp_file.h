// A file in the temporary folder that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace hodo::image::test {

using Bytes = std::vector<std::uint8_t>;

class TempFile {
 public:
  explicit TempFile(std::span<const std::uint8_t> bytes) {
    static int count = 0;
    path_ = testing::TempDir() + "hodo-" + std::to_string(::getpid()) + "-" +
            std::to_string(++count) + ".bin";
    write(bytes);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { std::filesystem::remove(path_); }

  void write(std::span<const std::uint8_t> bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  void shrink(std::uint64_t size) const { std::filesystem::resize_file(path_, size); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `size` bytes, each different from its neighbours.
inline Bytes pattern(std::size_t size, std::uint8_t seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(seed + i * 7 + (i >> 8));
  }
  return bytes;
}

}  // namespace hodo::image::test
