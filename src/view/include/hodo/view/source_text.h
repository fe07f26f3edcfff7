// Lines of source files, as far as they are here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hodo/session/names.h"

namespace hodo::view {

// The lines of a file from `first` to `last`, printable, with spaces for tabs, and of bounded
// length; none where it cannot be read or is no regular file.
std::map<std::uint32_t, std::string> read_source(const std::string& path, std::uint32_t first,
                                                 std::uint32_t last);

// Says that a source cannot be read: "a.c is not here; --substitute-path FROM=TO ...".
std::string absent_text(const std::string& source);

// Whether the source was written to after the program that was made of it, so that its lines may be
// others now; false where one of the files is not here. `location`: session::Object::location().
bool is_newer(const std::string& source, const std::string& location);
// The same in words: "a.c is newer than prog: its lines may be others now"; else empty.
std::string newer_text(const std::string& source, const session::Object& program);

}  // namespace hodo::view
