// What is known of a file's source positions without its DWARF: the tables of the units that
// somebody asked about.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unit_lines.h"
#include "unit_ranges.h"

namespace hodo::symbol {

// Use from one thread at a time.
class KeptLines {
 public:
  // Tables of more than so many bytes in all are not kept; those that nobody asked for go first.
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  // By start: of all units of the file.
  explicit KeptLines(std::vector<UnitRange> ranges) : ranges_(std::move(ranges)) {}

  std::span<const UnitRange> ranges() const { return ranges_; }
  // The unit's table; null where it is not known.
  const UnitLines* table(std::uint64_t unit);
  bool has(std::uint64_t unit) const { return tables_.contains(unit); }
  const UnitLines& add(std::uint64_t unit, UnitLines lines);
  // Some were added.
  bool changed() const { return changed_; }

  std::vector<std::uint8_t> write() const;
  // From write(), or from what somebody made up: nullopt if it makes no sense.
  static std::optional<KeptLines> read(std::span<const std::uint8_t> bytes);

 private:
  struct Table {
    std::vector<std::uint8_t> bytes;
    std::optional<UnitLines> read;  // at the first question
  };
  std::vector<UnitRange> ranges_;
  std::map<std::uint64_t, Table> tables_;
  bool changed_ = false;
};

}  // namespace hodo::symbol
