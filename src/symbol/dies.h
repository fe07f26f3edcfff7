// What is asked of single entries of DWARF (DIEs).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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

// The text of an attribute; empty where there is none.
std::string string_of(Dwarf_Die& die, unsigned name);

// By itself libdw ends the program where it has no memory; then it throws std::bad_alloc.
void throw_without_memory(Dwarf* dwarf);

// Paths of source files may be relative to where the compiler was called.
std::string absolute(Dwarf_Die& unit, const char* path);

// Of a function: whether the compiler has inlined it somewhere.
bool is_inlined(Dwarf_Die& die);

// The namespaces and classes around functions, "ns::Box::": of each unit found when somebody asks
// for one of its functions. Of a file as much as is looked at of a unit. Not to outlive its DWARF.
class Scopes {
 public:
  // Empty where it stands in none of these; of the entry that declares it.
  std::string around(Dwarf_Die function);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Scope {
    std::uint32_t around = kNone;  // index in scopes_
    const char* name = nullptr;    // in the DWARF; null: it has none
  };
  void read(const Dwarf_Die& unit);

  std::unordered_set<const void*> units_;  // by where their entries lie in memory, as functions
  std::unordered_map<const void*, std::uint32_t> of_;  // index in scopes_
  std::vector<Scope> scopes_;
  int budget_ = kMostDies;
};

// Whether somebody who writes `wanted` may mean the function: as means() of what it is called.
bool is_called(Dwarf_Die& function, std::string_view wanted, Scopes& scopes);

// As name_of(), with namespaces and classes, but without parameters, where DWARF has no linkage
// name: GCC gives none to static functions.
std::string full_name_of(Dwarf_Die& function, Scopes& scopes);

struct Position {
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
};
// Where a function is defined.
Position position_of_definition(Dwarf_Die& unit, Dwarf_Die& die);
// Where the call stood that was inlined as `die`; of `unit` is the folder.
Position position_of_call(Dwarf_Die& unit, Dwarf_Die& die);

}  // namespace hodo::symbol
