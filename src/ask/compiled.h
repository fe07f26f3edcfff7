// What two builds of a file say of whether a function was inlined in one of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hodo/session/names.h"
#include "hodo/symbol/debug_functions.h"

namespace hodo::ask {

// How the functions of a file were compiled, by base_name() of their demangled names.
struct Compiled {
  std::vector<symbol::DebugFunctions::Unit> units;
  std::multimap<std::string, symbol::DebugFunctions::Function> functions;
  bool whole = false;  // all of them are known
};

// A pass over all of the file's DWARF.
Compiled compiled_of(const session::Object& file);

// Whether calls of a function that `here` made may be inlined in `there`, or may be gone there
// without a trace, as optimisers leave it. False where the same compiler compiled it with the same
// switches in both and has not inlined it in `there`: then they are calls that `there` did not
// make.
bool may_be_inlined(const std::string& name, const Compiled& here, const Compiled& there);

// Whether a call of the function was inlined there; false where nothing tells.
bool is_inlined(const std::string& name, const Compiled& there);

}  // namespace hodo::ask
