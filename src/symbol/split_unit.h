// What -gsplit-dwarf puts into files of its own.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace hodo::symbol {

// A unit as it is asked: its lines and ranges are in the file itself, its entries may not be.
struct Unit {
  Dwarf_Die lines;
  Dwarf_Die entries;  // the same entry, where nothing was split off
  // "a.dwo is missing; it would be /p/a.dwo or /build/a.dwo": the file that the entries are in;
  // then there are none.
  std::string missing;
};

// `unit` is of the DWARF of the file at `path`, next to which packages (.dwp) and .dwo files are
// looked for, and then in the folder where the compiler was called. Neither FIFOs nor what unpacks
// to more than fits are opened, whatever the unit names.
Unit whole_unit(const Dwarf_Die& unit, const std::string& path);

}  // namespace hodo::symbol
