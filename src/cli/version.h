// Which hodo this is.
#pragma once

#include <string_view>

namespace hodo::cli {

// The project's version, "0.1.0".
std::string_view version();

}  // namespace hodo::cli
