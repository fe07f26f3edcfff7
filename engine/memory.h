// The engine's own memory: what it has mapped, which the program cannot take away.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Memory anywhere; zeros. Null: there is none. The program cannot take it away.
void* try_map_memory(std::size_t bytes);
// Dies where there is none.
void* map_memory(std::size_t bytes);
void unmap_memory(std::uint64_t start, std::size_t bytes);
// Where the kernel should put such memory, if that is free.
long place_elsewhere(std::size_t bytes);
// Flags of mmap for memory at one place or nowhere.
inline constexpr int kOnlyThere = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
inline constexpr long kHugePage = 2 << 20;  // bytes
// The same of memory that was mapped in another way, from here on. `shared`: with the recorder.
void note_own(std::uint64_t start, std::uint64_t bytes, bool shared = false);
void forget_own(std::uint64_t start, std::uint64_t bytes);
void note_own_image();
// How many all of them are; and those that are nobody else's, and so the process's data.
std::uint64_t own_bytes();
std::uint64_t own_data();
// Whether any of these addresses are the engine's. Needs no lock.
bool is_own(std::uint64_t start, std::uint64_t bytes);

// Gives all of it back but the engine's program file. Nothing of it can be used afterwards.
void unmap_all_but_image();

}  // namespace hodo::engine
