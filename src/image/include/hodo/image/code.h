// Which bytes were mapped where and when, as the flow decoder sees it.
#pragma once

#include <cstdint>
#include <span>

namespace hodo::image {

// Bytes that never change: a file's mapping, a stored page, the bytes that a recorder kept. Equal
// `content` ids mean equal bytes at equal offsets, so a block decoded once serves every process and
// every mapping of the same content.
struct CodeSpan {
  std::uint64_t content = 0;            // id of the content; 0: nothing is mapped there
  std::uint64_t offset = 0;             // of bytes[0] within the content
  std::uint64_t address = 0;            // where bytes[0] is mapped
  std::span<const std::uint8_t> bytes;  // valid as long as the source lives
  std::uint64_t valid_from = 0;  // trace time; the answer holds for [valid_from, valid_until)
  std::uint64_t valid_until = ~std::uint64_t{0};
};

// Code bytes by address and time. Implementations are safe for concurrent const use.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // The mapped span that contains `address` at `time`: address <= wanted < address + bytes.size().
  // content == 0 where nothing is mapped (valid_from/valid_until still bound that answer).
  virtual CodeSpan find(std::uint64_t address, std::uint64_t time) const = 0;
};

}  // namespace hodo::image
