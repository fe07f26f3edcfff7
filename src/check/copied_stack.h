// Continuations that are a copy of the stack: setjmp behind a copy of it, and longjmp behind the
// copy back. The calls that were open at the setjmp are open again, though all of them had
// returned.
#pragma once

#include "edge.h"

namespace hodo::check {

// Whether the function with the call in front of this place copies memory before it, by the C
// library.
bool copies_before(const End& behind);

}  // namespace hodo::check
