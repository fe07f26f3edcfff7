#include "kept_lines.h"

#include <algorithm>
#include <utility>

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kVersion = 2;

}  // namespace

std::optional<std::uint64_t> unit_at(std::span<const UnitRange> ranges, std::uint64_t vaddr) {
  const auto after = std::ranges::upper_bound(ranges, vaddr, {}, &UnitRange::start);
  if (after == ranges.begin() || vaddr >= (after - 1)->end) return std::nullopt;
  return (after - 1)->unit;
}

const UnitLines* KeptLines::table(std::uint64_t unit) {
  const auto it = tables_.find(unit);
  if (it == tables_.end()) return nullptr;
  Table& table = it->second;
  if (!table.read) table.read = UnitLines::read(table.bytes);
  if (table.read) return &*table.read;
  tables_.erase(it);
  return nullptr;
}

const UnitLines& KeptLines::add(std::uint64_t unit, UnitLines lines) {
  Table& table = tables_[unit];
  NumberWriter out;
  lines.write(out);
  table.bytes = out.take();
  table.read = std::move(lines);
  changed_ = true;
  return *table.read;
}

std::vector<std::uint8_t> KeptLines::write() const {
  NumberWriter out;
  out.number(kVersion);
  out.number(ranges_.size());
  std::uint64_t last = 0;
  for (const UnitRange& range : ranges_) {
    out.number(range.start - last);
    out.number(range.end - range.start);
    out.number(range.unit);
    last = range.start;
  }
  std::size_t left = kMostBytes;
  std::vector<const std::pair<const std::uint64_t, Table>*> kept;
  for (const bool asked : {true, false}) {
    for (const auto& entry : tables_) {
      const Table& table = entry.second;
      if (table.read.has_value() != asked || table.bytes.size() > left) continue;
      left -= table.bytes.size();
      kept.push_back(&entry);
    }
  }
  out.number(kept.size());
  for (const auto* entry : kept) {
    out.number(entry->first);
    out.bytes(entry->second.bytes);
  }
  return out.take();
}

std::optional<KeptLines> KeptLines::read(std::span<const std::uint8_t> bytes) {
  NumberReader in(bytes);
  if (in.number() != kVersion) return std::nullopt;
  KeptLines out({});
  std::uint64_t last = 0;
  for (std::size_t i = in.count(3); i > 0 && in.good(); --i) {
    UnitRange range;
    last = range.start = in.behind(last);
    range.end = in.behind(range.start);
    range.unit = in.number();
    out.ranges_.push_back(range);
  }
  for (std::size_t i = in.count(2); i > 0 && in.good(); --i) {
    const std::uint64_t unit = in.number();
    const auto table = in.bytes();
    out.tables_[unit].bytes.assign(table.begin(), table.end());
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return out;
}

}  // namespace hodo::symbol
