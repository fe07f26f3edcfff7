// Names of many addresses: what is the same for all of a function is found out and written once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "hodo/session/names.h"

namespace hodo::view {

class NamedPlaces {
 public:
  // A function, or one address that has none.
  struct Function {
    session::Place place;      // of one of its addresses
    std::string name;          // printable; function_name() of the address where there is none
    std::uint32_t number = 0;  // of the name: that of all that are called so
    std::size_t index = 0;     // its own, from 0 on
    bool has_symbol() const { return !place.symbol.empty(); }
  };
  struct At {
    const Function* function = nullptr;  // lives as long as the NamedPlaces
    std::uint64_t offset = 0;            // in it; 0 where it is one address

    // "main+0x10"
    std::string label() const;
  };

  // `names` must outlive this.
  explicit NamedPlaces(const session::Names& names) : names_(names) {}

  // As Names::place.
  At at(std::uint32_t space, std::uint64_t address, std::uint64_t time);

 private:
  At look(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  const Function* add(session::Place place, std::string name);

  const session::Names& names_;
  std::deque<Function> functions_;
  // Of files, one each: a file may be mapped under several paths.
  std::unordered_map<const symbol::Symbol*, const Function*> of_symbols_;
  // Name, object, stub, synthetic, whether it is one address.
  using Key = std::tuple<std::string, std::string, bool, bool, bool>;
  std::map<Key, const Function*> others_;
  std::map<std::pair<std::string, bool>, std::uint32_t> numbers_;
};

}  // namespace hodo::view
