// A kernel as distributions install it: /boot/vmlinuz, a bzImage, whose payload is the compressed
// ELF file (Documentation/x86/boot.rst).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::kernelcheck {

// The ELF file, and behind it what the boot loader's part of the kernel needs: the addresses to
// relocate. `bytes` of an ELF file are given back. Errors: malformed (neither), truncated,
// unsupported (an unknown compression), no_space (more than 512 MiB).
Result<std::vector<std::uint8_t>> unpack_kernel(std::span<const std::uint8_t> bytes);

}  // namespace hodo::kernelcheck
