#include "kept_marks.h"

#include <algorithm>
#include <utility>

namespace hodo::text {

KeptMarks::KeptMarks(std::span<const Marks> marks) : rows_((marks.size() + kRow - 1) / kRow) {
  const auto is_rare = [](Marks m) { return m != 0 && m != kCommon; };
  rare_.reserve(static_cast<std::size_t>(std::ranges::count_if(marks, is_rare)));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    Row& row = rows_[i / kRow];
    if (i % kRow == 0) row.before = rare_.size();
    const std::uint64_t bit = std::uint64_t{1} << i % kRow;
    if (marks[i] != 0) row.some |= bit;
    if (!is_rare(marks[i])) continue;
    row.rare |= bit;
    rare_.push_back(marks[i]);
  }
}

std::optional<KeptMarks> KeptMarks::restore(std::size_t size, std::vector<Row> rows,
                                            std::vector<Marks> rare) {
  const std::size_t in_last = size % kRow;
  if (rows.size() != size / kRow + (in_last != 0 ? 1 : 0)) return std::nullopt;
  if (in_last != 0 && rows.back().some >> in_last != 0) return std::nullopt;
  std::uint64_t before = 0;
  for (const Row& row : rows) {
    if (row.before != before || (row.rare & ~row.some) != 0) return std::nullopt;
    before += static_cast<std::uint64_t>(std::popcount(row.rare));
  }
  if (before != rare.size()) return std::nullopt;
  KeptMarks out;
  out.rows_ = std::move(rows);
  out.rare_ = std::move(rare);
  return out;
}

}  // namespace hodo::text
