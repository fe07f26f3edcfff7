// Functions that hand on to another one of their name, as AddressSanitizer's popen to libc's.
#pragma once

#include "edge.h"

namespace hodo::check {

// The branch is one of a function of the target's name, of a part that the compiler split off
// (popen.part.0), or of a function which that one calls or jumps to: it is given the pointer as an
// argument, and may be all that the one of this name is (a trampoline).
bool hands_on(const Edge& edge);

}  // namespace hodo::check
