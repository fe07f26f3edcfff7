// How the functions of a file were compiled, as far as its debug information says it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

struct DebugFunctions {
  struct Unit {
    std::string source;    // path, as the compiler was given it
    std::string producer;  // the compiler; of GCC also the switches that change code
  };
  struct Function {
    std::uint32_t unit = 0;  // in `units`
    bool inlined = false;    // somewhere
  };
  std::vector<Unit> units;
  // By name, mangled where DWARF has a linkage name: those that a unit defines, not nested ones.
  std::multimap<std::string, Function> functions;
  // False: there is none, some of it lies in other files, or it is too much.
  bool whole = false;
};

// Of the file at `path`, if it has this build-id. A pass over all of its DWARF, opened anew.
DebugFunctions debug_functions_of(const std::string& path, std::span<const std::uint8_t> build_id,
                                  const DebugPaths& debug = {});

}  // namespace hodo::symbol
