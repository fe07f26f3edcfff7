// Memory below 2 GB, where 32 bits name a place: for what code in the cache names.
#pragma once

#include <cstddef>

namespace hodo::engine {

// Never given back. Zeroed.
void* allocate_low(std::size_t bytes, std::size_t alignment = 8);

}  // namespace hodo::engine
