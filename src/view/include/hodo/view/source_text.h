// Lines of source files, as far as they are here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace hodo::view {

// The lines of a file from `first` to `last`, printable, with spaces for tabs, and of bounded
// length; none where it cannot be read or is no regular file.
std::map<std::uint32_t, std::string> read_source(const std::string& path, std::uint32_t first,
                                                 std::uint32_t last);

}  // namespace hodo::view
