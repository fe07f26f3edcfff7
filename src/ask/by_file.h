// What is known of files, at the addresses that processes have them mapped at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hodo/ask/place_key.h"
#include "hodo/base/page.h"
#include "hodo/session/names.h"

namespace hodo::ask {

// Asks of a file but once, and keeps which one a page is of, within a bound.
template <class Known>
class ByFile {
 public:
  using Find = std::function<Known(const session::Object&)>;
  struct Mapped {
    const Known* known = nullptr;  // null: no file with symbols is there
    std::uint64_t delta = 0;       // address less offset in the file
  };

  // `names` must outlive this.
  ByFile(const session::Names& names, Find find)
      : names_(names), find_(std::move(find)), naming_(names, &session::Names::naming) {}

  Mapped at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    const PlaceKey key{space, naming_.at(space, time), address >> kPageBits};
    Recent& recent = recent_[key.place % recent_.size()];
    if (!recent.known || !(recent.key == key)) recent = {key, true, mapped(key, address, time)};
    return recent.mapped;
  }

 private:
  struct Recent {
    PlaceKey key;
    bool known = false;
    Mapped mapped;
  };

  Mapped mapped(const PlaceKey& key, std::uint64_t address, std::uint64_t time) {
    if (auto it = pages_.find(key); it != pages_.end()) return it->second;
    if (pages_.size() == kMostPages) pages_.clear();
    Mapped& out = pages_[key];
    const session::Object object = names_.object(key.space, address, time);
    if (object.table == nullptr) return out;
    auto it = files_.find(object.table);
    if (it == files_.end()) it = files_.emplace(object.table, find_(object)).first;
    out = {&it->second, address - object.offset};
    return out;
  }

  static constexpr std::size_t kMostPages = std::size_t{1} << 18;

  const session::Names& names_;
  Find find_;
  std::unordered_map<PlaceKey, Mapped, PlaceKey::Hash> pages_;
  std::vector<Recent> recent_{256};  // by page, of the last questions
  Generation naming_;
  std::map<const symbol::SymbolTable*, Known> files_;
};

}  // namespace hodo::ask
