// Rights that the kernel does not give to a program that is traced.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// Looks at the file that an execve or execveat of the program names, and at those that its first
// line names. False: the kernel will find nothing there. `obstacle` becomes the reason, with a
// remedy, why what is there cannot be recorded, as far as that can be told beforehand; it stays
// null: there is none.
bool look_at_program(const Registers& r, const char*& obstacle);

}  // namespace hodo::engine
