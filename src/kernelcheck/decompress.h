// The ways in which a kernel may be compressed (CONFIG_KERNEL_GZIP and the like in Linux'
// init/Kconfig).
#pragma once

#include <cstdint>
#include <span>

namespace hodo::kernelcheck {

struct Compression {
  const char* name;
  std::span<const std::uint8_t> magic;
  // Fills `out`; false unless `in` is sound and holds exactly that many bytes.
  bool (*unpack)(std::span<const std::uint8_t> in, std::span<std::uint8_t> out);
  bool has_size;  // the format itself ends with the size of what it holds
};

// The one whose magic `bytes` begin with; null: it is none of them.
const Compression* compression_of(std::span<const std::uint8_t> bytes);

}  // namespace hodo::kernelcheck
