// The marks of a text that has been analysed, in little room: most bytes have none, and most that
// have some have the same.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/text/module.h"

namespace hodo::text {

class KeptMarks {
 public:
  // Of 64 bytes of the text; bit n: byte n.
  struct Row {
    std::uint64_t some = 0;    // has marks
    std::uint64_t rare = 0;    // others than kCommon
    std::uint64_t before = 0;  // how many of these the rows before have
  };
  static constexpr std::size_t kRow = 64;
  static constexpr Marks kCommon = kInsn | kFlow;

  KeptMarks() = default;
  // One for each byte.
  explicit KeptMarks(std::span<const Marks> marks);
  // Of a text of so many bytes; nullopt: that is none of it.
  static std::optional<KeptMarks> restore(std::size_t size, std::vector<Row> rows,
                                          std::vector<Marks> rare);

  Marks at(std::size_t byte) const {
    const Row& row = rows_[byte / kRow];
    const std::uint64_t bit = std::uint64_t{1} << byte % kRow;
    if ((row.some & bit) == 0) return 0;
    if ((row.rare & bit) == 0) return kCommon;
    return rare_[row.before + static_cast<std::size_t>(std::popcount(row.rare & (bit - 1)))];
  }
  std::span<const Row> rows() const { return rows_; }
  std::span<const Marks> rare() const { return rare_; }

 private:
  std::vector<Row> rows_;
  std::vector<Marks> rare_;
};

}  // namespace hodo::text
