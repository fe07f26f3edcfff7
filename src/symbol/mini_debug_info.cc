#include "mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hodo::symbol {

std::vector<std::uint8_t> mini_debug_info(const ElfFile& file) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  constexpr std::uint64_t kMostMemory = std::uint64_t{128} << 20;  // of the decoder
  const Section* const section = file.section(".gnu_debugdata");
  if (section == nullptr) return {};
  const std::span<const std::uint8_t> packed = file.bytes(*section);
  // How much it is, is known at its end.
  std::vector<std::uint8_t> out;
  for (std::size_t room = std::min(packed.size(), kMost / 4) * 4; room != 0; room *= 2) {
    out.resize(std::min(room, kMost));
    std::uint64_t memory = kMostMemory;
    std::size_t read = 0;
    std::size_t made = 0;
    const lzma_ret end = lzma_stream_buffer_decode(&memory, 0, nullptr, packed.data(), &read,
                                                   packed.size(), out.data(), &made, out.size());
    out.resize(made);
    if (end == LZMA_OK) return out;
    if (end != LZMA_BUF_ERROR || room >= kMost) break;
  }
  return {};
}

}  // namespace hodo::symbol
