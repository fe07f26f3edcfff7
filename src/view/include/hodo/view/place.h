// An address with its name, as every command prints it.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/session/names.h"
#include "hodo/view/style.h"

namespace hodo::view {

// The symbol alone, printable: "main", or "[ls+0x55d0]" where no symbol covers the address, or the
// bare address where nothing is known.
std::string function_name(std::uint64_t address, const session::Place& place);
// The object's last path component, printable; empty where nothing is known.
std::string object_name(const session::Place& place);
// "55d0 main+0x10 (ls)".
std::string describe(std::uint64_t address, const session::Place& place, const Style& style);

}  // namespace hodo::view
