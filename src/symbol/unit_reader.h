// Makes a unit's table of its DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <optional>

#include "unit_lines.h"

namespace hodo::symbol {

// nullopt: the unit is absurdly large or deep, and has to be asked address by address.
std::optional<UnitLines> read_unit(Dwarf_Die unit);

}  // namespace hodo::symbol
