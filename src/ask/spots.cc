#include "spots.h"

#include <algorithm>

#include "hodo/base/join_ranges.h"
#include "hodo/base/last_component.h"

namespace hodo::ask {
namespace {

constexpr std::size_t kMostSuggested = 100'000;

// "foo.cc" and "src/foo.cc" are ends of "/home/me/src/foo.cc".
bool ends_path(const std::string& path, const std::string& end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || end.starts_with('/') ||
         path[path.size() - end.size() - 1] == '/';
}

}  // namespace

void Spots::add_lines(const symbol::SymbolTable& table, Ranges& out) {
  const symbol::LineTable lines = table.lines();
  std::vector<bool> meant(lines.files.size());
  for (std::size_t i = 0; i < lines.files.size(); ++i) {
    meant[i] = ends_path(lines.files[i], wanted_.name);
    if (!meant[i] && meant_.others.size() < kMostSuggested) {
      meant_.others.emplace_back(last_component(lines.files[i]));
    }
  }
  for (const symbol::LineRow& row : lines.rows) {
    if (row.file >= meant.size() || !meant[row.file] || row.line == 0) continue;
    if (meant_.lines.size() < kMostSuggested) meant_.lines.push_back(row.line);
    if (row.line != wanted_.value || row.end <= row.address) continue;
    const auto offset = table.elf().offset_of(row.address);
    if (offset) out.push_back({*offset, *offset + (row.end - row.address)});
  }
}

void Spots::add_symbol(const symbol::SymbolTable& table, Ranges& out) {
  for (const symbol::Symbol& symbol : table.named(wanted_.name)) {
    if (symbol.kind == symbol::SymbolKind::plt) continue;
    const auto offset = table.elf().offset_of(symbol.start + wanted_.value);
    if (offset) out.push_back({*offset, *offset + 1});
  }
  if (!out.empty()) return;
  for (const symbol::Symbol& symbol : table.symbols()) {
    if (meant_.others.size() == kMostSuggested) break;
    meant_.others.emplace_back(symbol.name);
  }
}

Spots::Ranges Spots::ranges_of(const session::Object& object) {
  Ranges out;
  if (wanted_.kind == Wanted::Kind::line) {
    add_lines(*object.table, out);
  } else {
    add_symbol(*object.table, out);
  }
  join_ranges(out);
  found_ |= !out.empty();
  return out;
}

std::span<const Spot> Spots::within(std::uint32_t space, std::uint64_t first, std::uint64_t last,
                                    std::uint64_t time) {
  answer_.clear();
  if (wanted_.kind == Wanted::Kind::address && wanted_.name.empty()) {
    found_ = true;
    if (wanted_.value >= first && wanted_.value <= last) {
      answer_.push_back({wanted_.value, wanted_.value + 1});
    }
    return answer_;
  }
  const auto where = files_.at(space, first, time);
  if (where.known == nullptr) return {};
  const std::uint64_t low = first - where.delta;
  const std::uint64_t high = last - where.delta;
  auto it = std::ranges::upper_bound(*where.known, low, {}, &Spot::end);
  for (; it != where.known->end() && it->begin <= high; ++it) {
    answer_.push_back({it->begin + where.delta, it->end + where.delta});
  }
  return answer_;
}

bool Spots::has(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  return !within(space, address, address, time).empty();
}

}  // namespace hodo::ask
