#include "compiled.h"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "hodo/ask/builds.h"
#include "hodo/base/last_component.h"
#include "hodo/symbol/demangle.h"

namespace hodo::ask {
namespace {

using Unit = symbol::DebugFunctions::Unit;

// GCC's name has the switches with it; others' say nothing of them.
bool tells_switches(const Unit& unit) { return unit.producer.starts_with("GNU "); }

// Whether the unit was compiled in the same way for `there`; of a source that is new there, as any
// other was.
bool compiles_alike(const Unit& unit, const Compiled& there) {
  if (!tells_switches(unit)) return false;
  bool has_source = false;
  bool any_alike = false;
  for (const Unit& other : there.units) {
    const bool same_source = last_component(other.source) == last_component(unit.source);
    const bool alike = other.producer == unit.producer;
    if (same_source && alike) return true;
    has_source |= same_source;
    any_alike |= alike;
  }
  return any_alike && !has_source;
}

}  // namespace

Compiled compiled_of(const session::Object& file) {
  if (file.table == nullptr) return {};
  symbol::DebugFunctions known = symbol::debug_functions_of(file.path, file.table->elf().build_id);
  Compiled out{.units = std::move(known.units), .whole = known.whole};
  for (const auto& [name, function] : known.functions) {
    out.functions.emplace(base_name(symbol::demangle(name)), function);
  }
  return out;
}

bool may_be_inlined(const std::string& name, const Compiled& here, const Compiled& there) {
  if (!here.whole || !there.whole) return true;
  const auto [first, last] = here.functions.equal_range(name);
  const auto is_alike = [&](const auto& entry) {
    return compiles_alike(here.units[entry.second.unit], there);
  };
  if (first == last || !std::ranges::all_of(first, last, is_alike)) return true;
  return is_inlined(name, there);
}

bool is_inlined(const std::string& name, const Compiled& there) {
  const auto [first, last] = there.functions.equal_range(name);
  return std::any_of(first, last, [](const auto& entry) { return entry.second.inlined; });
}

}  // namespace hodo::ask
