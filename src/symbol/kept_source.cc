#include "kept_source.h"

#include <algorithm>
#include <utility>

namespace hodo::symbol {
namespace {

// Of DWARF whose tables are made at once, since unpacking it takes longer than reading some.
constexpr std::uint64_t kAtOnce = std::uint64_t{4} << 20;
// For its lines, and for the file that its entries are in if they were split off.
constexpr std::uint64_t kOfEach = std::uint64_t{4} << 10;

}  // namespace

KeptSource::KeptSource(std::shared_ptr<LineStore> store, Key key, Dwarf dwarf)
    : store_(std::move(store)), key_of_(std::move(key)), dwarf_(std::move(dwarf)), key_(key_of_()) {
  if (const auto bytes = store_->load(key_.bytes)) kept_ = KeptLines::read(*bytes);
}

KeptSource::~KeptSource() {
  if (!kept_ || !kept_->changed() || !key_.settled || key_of_() != key_) return;
  store_->store(key_.bytes, kept_->write());
}

std::optional<std::vector<SourceFrame>> KeptSource::frames(std::uint64_t vaddr) {
  const UnitLines* table = nullptr;
  if (kept_) {
    const auto unit = unit_at(kept_->ranges(), vaddr);
    if (!unit) return std::vector<SourceFrame>{};
    table = kept_->table(*unit);
  }
  if (table == nullptr) table = make(vaddr);
  if (table == nullptr) return std::nullopt;
  return table->frames(vaddr);
}

const UnitLines* KeptSource::make(std::uint64_t vaddr) {
  DwarfSource* const dwarf = dwarf_();
  if (dwarf == nullptr) return nullptr;
  if (!kept_) kept_.emplace(dwarf->units());
  const auto unit = unit_at(dwarf->units(), vaddr);
  auto lines = unit ? dwarf->unit_lines(*unit) : std::nullopt;
  if (!lines) return nullptr;
  kept_->add(*unit, *std::move(lines));
  make_more(*dwarf, *unit);
  // It may be there the next time.
  if (!dwarf->missing().empty()) key_.settled = false;
  return kept_->table(*unit);
}

// Those that follow in the file, and then from its beginning.
void KeptSource::make_more(DwarfSource& dwarf, std::uint64_t behind) {
  std::vector<std::uint64_t> units;
  for (const UnitRange& range : dwarf.units()) units.push_back(range.unit);
  std::ranges::sort(units);
  units.erase(std::ranges::unique(units).begin(), units.end());
  std::ranges::rotate(units, std::ranges::upper_bound(units, behind));
  std::uint64_t done = dwarf.size_of(behind) + kOfEach;
  for (const std::uint64_t unit : units) {
    if (kept_->has(unit)) continue;
    done += dwarf.size_of(unit) + kOfEach;
    if (done > kAtOnce) return;
    if (auto lines = dwarf.unit_lines(unit)) kept_->add(unit, *std::move(lines));
  }
}

}  // namespace hodo::symbol
