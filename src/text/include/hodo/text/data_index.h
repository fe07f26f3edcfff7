// Finds bytes in what a file has mapped outside of its functions, many times in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/text/module.h"

namespace hodo::text {

class DataIndex {
 public:
  // So many bytes are gone through for what the index does not answer.
  static constexpr std::uint64_t kMostSearched = std::uint64_t{1} << 34;

  // `module` must outlive this. Takes as much memory as what is mapped has bytes. With `most` bytes
  // instead of kMostSearched.
  explicit DataIndex(const Module& module, std::uint64_t most = kMostSearched);

  // Whether the file has the bytes there, at least one; nullopt: nobody knows, as too much has been
  // searched.
  std::optional<bool> has(std::span<const std::uint8_t> wanted);

 private:
  // Words of the file that begin at multiples of kWord can be found by what they hold. Wherever two
  // words' bytes are, one of those is among them.
  static constexpr std::size_t kWord = 8;
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  void add(Range range);
  std::size_t slot(const std::uint8_t* word) const;
  bool is_at(std::size_t place, std::span<const std::uint8_t> wanted) const;
  std::optional<bool> look(std::size_t distance, std::span<const std::uint8_t> wanted) const;
  std::optional<bool> search(std::span<const std::uint8_t> wanted);

  const Module& module_;
  std::span<const std::uint8_t> file_;
  std::vector<Range> ranges_;         // that are mapped, apart and ascending
  unsigned shift_ = 63;               // 64 - log2 of the number of heads
  std::vector<std::uint32_t> heads_;  // by slot(): 1 + a word's number, its place / kWord; 0: none
  std::vector<std::uint32_t> next_;   // by that number, likewise
  std::uint64_t left_;
};

}  // namespace hodo::text
