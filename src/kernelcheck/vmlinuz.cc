#include "vmlinuz.h"

#include <algorithm>
#include <array>
#include <string>

#include "decompress.h"
#include "hodo/base/byte_reader.h"

namespace hodo::kernelcheck {
namespace {

constexpr std::uint32_t kMagic = 0x53726448;  // "HdrS"
constexpr std::size_t kSetupSectors = 0x1f1, kMagicAt = 0x202, kVersion = 0x206, kPayload = 0x248;
constexpr std::uint16_t kHasPayload = 0x208;  // version of the boot protocol
constexpr std::size_t kSector = 512, kMostUnpacked = 512 << 20;
constexpr std::array<std::uint8_t, 4> kElf = {0x7f, 'E', 'L', 'F'};

template <std::size_t Size>
bool begins(std::span<const std::uint8_t> bytes, const std::array<std::uint8_t, Size>& with) {
  return bytes.size() >= Size && std::equal(with.begin(), with.end(), bytes.begin());
}

template <class T>
T number(std::span<const std::uint8_t> bytes, std::size_t at) {
  ByteReader reader(bytes);
  return reader.seek(at) ? reader.read<T>().value_or(0) : 0;
}

// Behind the compressed stream stands the size of what it holds, unless the format has that itself.
Result<std::vector<std::uint8_t>> unpack(const Compression& how,
                                         std::span<const std::uint8_t> payload) {
  constexpr std::size_t kSize = sizeof(std::uint32_t);
  if (payload.size() < 2 * kSize) return fail(ErrorCode::malformed, "the kernel's payload is cut");
  const auto size = number<std::uint32_t>(payload, payload.size() - kSize);
  if (size > kMostUnpacked) return fail(ErrorCode::no_space, "the kernel has more than 512 MiB");
  std::vector<std::uint8_t> out(size);
  if (!how.unpack(how.has_size ? payload : payload.first(payload.size() - kSize), out)) {
    return fail(ErrorCode::malformed,
                std::string("the kernel's payload, compressed with ") + how.name + ", is damaged");
  }
  return out;
}

}  // namespace

Result<std::vector<std::uint8_t>> unpack_kernel(std::span<const std::uint8_t> bytes) {
  if (begins(bytes, kElf)) return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  if (number<std::uint32_t>(bytes, kMagicAt) != kMagic ||
      number<std::uint16_t>(bytes, kVersion) < kHasPayload) {
    return fail(ErrorCode::malformed, "this is neither a Linux kernel (bzImage) nor an ELF file");
  }
  const std::size_t sectors = number<std::uint8_t>(bytes, kSetupSectors);
  ByteReader reader(bytes);
  const bool found = reader.seek((sectors + 1) * kSector + number<std::uint32_t>(bytes, kPayload));
  const auto payload =
      found ? reader.take(number<std::uint32_t>(bytes, kPayload + 4)) : std::nullopt;
  if (!payload) return fail(ErrorCode::truncated, "the kernel ends inside its payload");
  if (const Compression* how = compression_of(*payload)) return unpack(*how, *payload);
  return fail(ErrorCode::unsupported,
              "the kernel is compressed in a way that hodo does not know; unpack it with the "
              "kernel's scripts/extract-vmlinux and give the vmlinux");
}

}  // namespace hodo::kernelcheck
