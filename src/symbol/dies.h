// What is asked of single entries of DWARF (DIEs).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hodo::symbol {

// Limits for files that lie: of what is looked at at once, and nested. A unit of a large C++
// program has some 100000 DIEs.
inline constexpr int kMostDies = 1 << 22;
inline constexpr int kDeepestScope = 256;

// A function, or a call that was inlined into one.
bool is_function(Dwarf_Die& die);
// May have code: a function or a block.
bool holds_code(Dwarf_Die& die);
// Has no code of its own, but may have functions inside.
bool may_hold_functions(Dwarf_Die& die);

// Of a function: the linkage name where there is one; may be empty.
std::string name_of(Dwarf_Die& die);

// Paths of source files may be relative to where the compiler was called.
std::string absolute(Dwarf_Die& unit, const char* path);

// Of a function: whether the compiler has inlined it somewhere.
bool is_inlined(Dwarf_Die& die);

// Whether somebody who writes `wanted` may mean the function: as means() of what it is called.
bool is_called(Dwarf_Die& function, std::string_view wanted);

struct Position {
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
};
// Where a function is defined.
Position position_of_definition(Dwarf_Die& unit, Dwarf_Die& die);
// Where the call stood that was inlined as `die`.
Position position_of_call(Dwarf_Die& unit, Dwarf_Die& die);

}  // namespace hodo::symbol
