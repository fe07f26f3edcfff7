// What /proc/cpuinfo says of the processor.
#pragma once

#include <string_view>

namespace hodo::capture {

bool processor_has(std::string_view flag);

}  // namespace hodo::capture
