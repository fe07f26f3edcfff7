// Calls of sensitive functions, those that start programs or change rights (is_sensitive in
// hodo/text/names.h), through a pointer that the program could have been made to hold.
#pragma once

#include <string_view>

#include "edge.h"

namespace hodo::check {

// The sensitive function that an indirect call or jump reaches, directly or by its PLT stub; empty:
// none, or the branch leads there
// - by its name: through the slot that the dynamic linker fills for it, from the linker's resolver,
//   or from a wrapper of the same name;
// - by a pointer to it that the branch's own file holds in data that cannot be written to once it
//   is loaded;
// - by what the branch's own file was given by dlsym for this very name;
// - as the exec that libc's posix_spawn hands to the child that it makes.
std::string_view reached_through_pointer(const Edge& edge);

}  // namespace hodo::check
