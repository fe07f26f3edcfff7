// Numbers as text, without the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// Writes `number` to `to`, which takes 20 characters, without a 0 behind it; how many there are.
inline std::size_t put_decimal(char* to, std::uint64_t number) {
  char digits[20];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
  } while ((number /= 10) != 0);
  for (std::size_t i = 0; i < count; ++i) to[i] = digits[count - 1 - i];
  return count;
}

}  // namespace hodo::engine
