// Makes a unit's table of its DWARF.
#pragma once

#include <optional>

#include "split_unit.h"
#include "unit_lines.h"

namespace hodo::symbol {

// nullopt: the unit is absurdly large or deep, and has to be asked address by address.
std::optional<UnitLines> read_unit(const Unit& unit);

}  // namespace hodo::symbol
