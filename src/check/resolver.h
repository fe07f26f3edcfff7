// The dynamic linker's code that calls what it has found by a slot's name.
#pragma once

#include "edge.h"

namespace hodo::check {

// The dynamic linker's resolver, which static programs that load libraries contain, too: where it
// jumps to what it has found, or calls it. Only of what is known().
bool is_resolver(const End& from);

}  // namespace hodo::check
