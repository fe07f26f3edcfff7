// An address with its name, as every command prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/session/names.h"
#include "hodo/view/style.h"

namespace hodo::view {

// The symbol alone, printable: "main", or "[ls+0x55d0]" where no symbol covers the address, or the
// bare address where nothing is known.
std::string function_name(std::uint64_t address, const session::Place& place);
// The object's last path component, printable; empty where nothing is known.
std::string object_name(const session::Place& place);
// What to add from DWARF.
struct SourceDetail {
  bool line = false;     // the source line
  bool inlined = false;  // the functions inlined there
  bool any() const { return line || inlined; }
};

// "hello.c:12" of the innermost frame, printable; empty where that is unknown.
std::string source_line(const std::vector<symbol::SourceFrame>& frames);
// With both details: "inner() inner.h:100 in outer() outer.cc:201", innermost first; the function
// itself is not named where nothing is inlined into it. Empty where there is no DWARF.
std::string source_text(const std::vector<symbol::SourceFrame>& frames, SourceDetail detail);

// "55d0 main+0x10 (ls)".
std::string describe(std::uint64_t address, const session::Place& place, const Style& style);

}  // namespace hodo::view
