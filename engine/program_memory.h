// The program's memory, by addresses that the program chose.
#pragma once

#include <cstddef>
#include <cstdint>

#include "glue.h"
#include "keys.h"

namespace hodo::engine {

// False: some of it is not there, or may not be read or written.
inline bool read_program(void* to, std::uint64_t from, std::size_t count) {
  return glue_copy(to, reinterpret_cast<const void*>(from), count) != 0;
}
// The same of code.
inline bool read_code(void* to, std::uint64_t ip, std::size_t count) {
  const OpenKeys keys;
  return read_program(to, ip, count);
}
inline bool write_program(std::uint64_t to, const void* from, std::size_t count) {
  return glue_copy(reinterpret_cast<void*>(to), from, count) != 0;
}

}  // namespace hodo::engine
