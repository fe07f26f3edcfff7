// How a recording names the file of a guest (docs/file-format.md).
#pragma once

#include <string_view>

namespace hodo::perfdata {

// Stands before the path in the guest, where no build-id tells that this machine has the file.
inline constexpr std::string_view kOfGuest = "guest:";

}  // namespace hodo::perfdata
