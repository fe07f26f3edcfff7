// The bytes of a perf.data file, read where and when they are asked for: a file that is shortened
// meanwhile gives an error, where a mapping of it would give SIGBUS.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/file.h"

namespace hodo::perfdata {

// Safe for concurrent reads.
class Input {
 public:
  explicit Input(image::RegularFile file) : file_(std::move(file)), size_(file_->size()) {}
  // The bytes must outlive this.
  explicit Input(std::span<const std::uint8_t> memory) : memory_(memory), size_(memory.size()) {}

  std::uint64_t size() const { return size_; }  // as of opening
  bool has_grown() const;                       // since
  // The bytes of one that lies in memory; else empty.
  std::span<const std::uint8_t> memory() const { return memory_; }
  // Fills all of `out`. Errors: io; truncated: the file ends before, or now does.
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  // The same in memory of its own, whose size comes from the input: unsupported where that is more
  // than `limit`.
  Result<std::vector<std::uint8_t>> section(std::uint64_t offset, std::uint64_t size,
                                            std::uint64_t limit) const;

 private:
  std::optional<image::RegularFile> file_;
  std::span<const std::uint8_t> memory_;
  std::uint64_t size_ = 0;
};

// Looks at an input from front to back: reads ahead, so that small records cost no call each, the
// further the more follow each other.
class Window {
 public:
  explicit Window(const Input& input) : input_(&input) {}

  // `size` bytes at `offset`, valid until the next call, or as long as an input in memory. Errors:
  // as Input::read.
  Result<std::span<const std::uint8_t>> at(std::uint64_t offset, std::size_t size);
  // Fills `out` without moving the window. False if it cannot.
  bool peek(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  bool holds(std::uint64_t offset, std::size_t size) const;

  const Input* input_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t begin_ = 0;  // of bytes_ in the input
  std::size_t ahead_ = 0;    // so much was read at once at last
};

}  // namespace hodo::perfdata
