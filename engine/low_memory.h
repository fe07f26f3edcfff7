// Memory below 2 GB, where 32 bits name a place: for what code in the cache names. It belongs to an
// edition of the cache (edition.h) and is given back with it, for the next one to take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Zeroed; dies where there is none.
void* allocate_low(std::size_t bytes, std::size_t alignment = 8);

// False: there is none for what one fragment needs.
bool low_is_ready();

// For a cache of so many bytes.
void size_low(std::uint64_t cache_bytes);
// What is allocated from here on belongs to this edition.
void begin_low(std::uint32_t edition);
void free_low(std::uint32_t edition);
// By the current one.
std::uint64_t low_bytes_used();

}  // namespace hodo::engine
