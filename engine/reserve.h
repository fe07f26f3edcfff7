// Addresses that the engine has from the beginning, for when the kernel gives it no memory: the
// program has filled its address space, has as many mappings as it may have, or was given a limit
// from outside. Until then nothing of it is used, and it is no memory but a mapping.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Before the program runs. As much as the limit of addresses allows.
void make_reserve();

// Zeros, aligned to 64 KB; null: there is none. Needs no lock.
void* take_reserve(std::size_t bytes);
// False: these are none of it. What has been taken is given back whole or in parts of 64 KB.
bool give_to_reserve(std::uint64_t start, std::size_t bytes);
// The same where something else has been mapped, or nothing is any more.
bool restore_reserve(std::uint64_t start, std::size_t bytes);

// How much of it is the process's data, as the kernel counts.
std::uint64_t reserve_data();

}  // namespace hodo::engine
