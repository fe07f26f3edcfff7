#include "pic.h"

#include <elf.h>

namespace hodo::text {
namespace {

constexpr std::uint8_t kCall = 0xe8;
constexpr std::size_t kCallSize = 5;

// __x86.get_pc_thunk.*: mov register, [esp]; ret.
bool is_thunk(std::span<const std::uint8_t> code) {
  return code.size() >= 4 && code[0] == 0x8b && (code[1] & 0xc7) == 0x04 && code[2] == 0x24 &&
         code[3] == 0xc3;
}

// add register, imm32: 81 /0, for EAX also 05. The number.
std::optional<std::uint32_t> added(ByteReader reader) {
  const auto opcode = reader.read<std::uint8_t>();
  if (opcode == 0x81) {
    const auto modrm = reader.read<std::uint8_t>();
    if (!modrm || (*modrm & 0xf8) != 0xc0) return std::nullopt;
  } else if (opcode != 0x05) {
    return std::nullopt;
  }
  return reader.read<std::uint32_t>();
}

}  // namespace

std::optional<std::uint64_t> asked_address(const TextMap& text, std::uint64_t call) {
  ByteReader reader(text.bytes(call));
  if (reader.read<std::uint8_t>() != kCall) return std::nullopt;
  const auto distance = reader.read<std::uint32_t>();
  if (!distance) return std::nullopt;
  const std::uint64_t next = call + kCallSize;
  if (*distance == 0) {
    const auto pop = reader.read<std::uint8_t>();
    if (!pop || (*pop & 0xf8) != 0x58) return std::nullopt;
  } else if (!is_thunk(text.bytes((next + *distance) & 0xffffffff))) {
    return std::nullopt;
  }
  const auto number = added(reader);
  return number ? std::optional((next + *number) & 0xffffffff) : std::nullopt;
}

std::optional<std::uint64_t> got_address(const ElfBytes& elf, const TextMap& text) {
  if (const auto known = elf.dynamic(DT_PLTGOT)) return known;
  // What most places come to (Boyer and Moore, "MJRTY").
  std::optional<std::uint64_t> most;
  std::size_t votes = 0;
  for (const TextMap::Stretch& s : text.stretches()) {
    for (std::size_t at = 0; at < s.bytes.size(); ++at) {
      if (s.bytes[at] != kCall) continue;
      const auto found = asked_address(text, s.begin + at);
      if (!found) continue;
      if (votes == 0) most = found;
      votes = most == found ? votes + 1 : votes - 1;
    }
  }
  return most;
}

}  // namespace hodo::text
