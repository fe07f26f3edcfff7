// The text around a place as its file has it once it is loaded, to hold against what ran there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edge_end.h"

namespace hodo::check {

// The function around an end, which is known(), or the part of it that is near: addresses of the
// file. Bytes that were kept have run; of the others the file's are taken for those that ran, and
// no difference seen.
struct TextPart {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};
TextPart part_around(const End& end);

// The file's bytes, as many as `ran`, which begins with the part. What the dynamic linker writes
// into the text of some files is there, and what the program has made of the sites that its file
// lists for that.
std::vector<std::uint8_t> as_loaded(const End& end, const TextPart& part,
                                    std::span<const std::uint8_t> ran);

// Where the first byte of the part is that is not the same; kNoDifference: all are.
inline constexpr std::size_t kNoDifference = ~std::size_t{0};
std::size_t first_difference(const TextPart& part, std::span<const std::uint8_t> ran,
                             std::span<const std::uint8_t> file);

}  // namespace hodo::check
