// The engine's own memory: what it has mapped, which the program cannot take away.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Memory anywhere; zeros. Null: there is none, nor in the reserve. The program cannot take it away.
void* try_map_memory(std::size_t bytes);
// Dies where there is none.
void* map_memory(std::size_t bytes);
void unmap_memory(std::uint64_t start, std::size_t bytes);
// Addresses for memory that is shared, which is mapped there with MAP_FIXED; 0: there are none.
std::uint64_t map_addresses(std::size_t bytes);
// The same with such memory. Zero: there is none.
std::uint64_t map_shared(long file, std::uint64_t offset, std::size_t bytes);
// With what is mapped there.
void unmap_addresses(std::uint64_t start, std::size_t bytes);
// The same where the process, a child, has nothing there.
void forget_addresses(std::uint64_t start, std::size_t bytes);
// Zeros again, which take no memory until they are written to.
void empty_memory(std::uint64_t start, std::size_t bytes);
// Where the kernel should put such memory, if that is free.
long place_elsewhere(std::size_t bytes);
// Flags of mmap for memory at one place or nowhere.
inline constexpr int kOnlyThere = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
inline constexpr long kHugePage = 2 << 20;  // bytes
// The same of memory that was mapped in another way, from here on. `shared`: it is not the
// process's data, as what the recorder has, too.
void note_own(std::uint64_t start, std::uint64_t bytes, bool shared = false);
void forget_own(std::uint64_t start, std::uint64_t bytes);
void note_own_image();
// How many all of them are; and those that are the process's data.
std::uint64_t own_bytes();
std::uint64_t own_data();
// Whether any of these addresses are the engine's. Needs no lock.
bool is_own(std::uint64_t start, std::uint64_t bytes);

// Gives all of it back but the engine's program file. Nothing of it can be used afterwards.
void unmap_all_but_image();

}  // namespace hodo::engine
