// Counts every damage and keeps the first ones in detail: hostile input must not fill memory with
// complaints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hodo/perfdata/reader.h"

namespace hodo::perfdata {

class DamageLog {
 public:
  void add(std::uint64_t offset, std::string what) {
    ++count_;
    if (kept_.size() < Cursor::kMaxDamages) kept_.push_back({offset, std::move(what)});
  }
  // Adds what a pass over the records noted.
  void take(const Cursor& cursor) {
    for (const auto& damage : cursor.damages()) add(damage.offset, damage.what);
    count_ += cursor.damage_count() - cursor.damages().size();
  }
  const std::vector<Damage>& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<Damage> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace hodo::perfdata
