// Symbols by what somebody calls them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// Safe for concurrent use. `symbols`, which must outlive this and stay as they are from the first
// question on, are put in order then: by their very names and, where those are not enough, by all
// that they may be called.
class NameIndex {
 public:
  explicit NameIndex(const std::vector<Symbol>& symbols) : symbols_(symbols) {}

  // All that have the very name, by index; else those that may be called so.
  std::vector<Symbol> find(std::string_view name);
  // Indices of all symbols, those of one name beside each other.
  std::vector<std::uint32_t> by_name();

 private:
  struct Named {
    std::uint64_t hash = 0;    // of a name
    std::uint32_t symbol = 0;  // index
    auto operator<=>(const Named&) const = default;
  };

  void name_all();
  void spell_all();
  std::vector<Symbol> spelled_as(std::string_view wanted);

  const std::vector<Symbol>& symbols_;
  std::once_flag named_once_;
  std::vector<Named> named_;  // by hash, then by name: long names begin alike
  std::once_flag spelled_once_;
  std::vector<Named> spelled_;  // what may be written but for the very name; by hash
};

}  // namespace hodo::symbol
