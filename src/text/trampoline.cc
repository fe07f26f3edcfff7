#include "hodo/text/trampoline.h"

#include <algorithm>
#include <array>

#include "endbr.h"
#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

bool take(ByteReader& reader, std::span<const std::uint8_t> expected) {
  const auto rest = reader.rest();
  if (rest.size() < expected.size() || !std::ranges::equal(rest.first(expected.size()), expected)) {
    return false;
  }
  return reader.take(expected.size()).has_value();
}

constexpr std::array<std::uint8_t, 2> kMovR11 = {0x49, 0xbb};       // movabs r11, function
constexpr std::array<std::uint8_t, 2> kMovR11Short = {0x41, 0xbb};  // mov r11d, function
constexpr std::array<std::uint8_t, 2> kMovR10 = {0x49, 0xba};       // movabs r10, frame
constexpr std::array<std::uint8_t, 3> kJmpR11 = {0x49, 0xff, 0xe3};
constexpr std::array<std::uint8_t, 1> kMovEcx = {0xb9};  // mov ecx, frame
constexpr std::array<std::uint8_t, 1> kMovEax = {0xb8};  // of fastcall functions
constexpr std::array<std::uint8_t, 1> kJmp = {0xe9};     // jmp function

std::optional<std::uint64_t> narrow_target(ByteReader reader, std::uint64_t address) {
  take(reader, kEndbr32);
  if (!take(reader, kMovEcx) && !take(reader, kMovEax)) return std::nullopt;
  if (!reader.read<std::uint32_t>() || !take(reader, kJmp)) return std::nullopt;
  const auto distance = reader.read<std::uint32_t>();
  if (!distance) return std::nullopt;
  return (address + reader.offset() + *distance) & 0xffffffff;
}

}  // namespace

// ix86_trampoline_init in GCC's config/i386/i386.cc.
std::optional<std::uint64_t> trampoline_target(std::span<const std::uint8_t> code,
                                               std::uint64_t address, isa::Mode mode) {
  ByteReader reader(code);
  if (mode == isa::Mode::bits32) return narrow_target(reader, address);
  take(reader, kEndbr64);
  std::optional<std::uint64_t> target;
  if (take(reader, kMovR11)) {
    if (const auto wide = reader.read<std::uint64_t>()) target = wide;
  } else if (take(reader, kMovR11Short)) {
    if (const auto narrow = reader.read<std::uint32_t>()) target = *narrow;
  }
  if (!target || !take(reader, kMovR10) || !reader.read<std::uint64_t>()) return std::nullopt;
  return take(reader, kJmpR11) ? target : std::nullopt;
}

bool is_closure(std::span<const std::uint8_t> code) {
  constexpr std::array<std::uint8_t, 7> kWithEndbr = {0x4c, 0x8d, 0x15, 0xf5, 0xff, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 7> kWithout = {0x4c, 0x8d, 0x15, 0xf9, 0xff, 0xff, 0xff};
  ByteReader reader(code);
  const bool has_endbr = take(reader, kEndbr64);
  if (!take(reader, has_endbr ? kWithEndbr : kWithout)) return false;  // lea r10, [code]
  constexpr std::array<std::uint8_t, 2> kJmpAt = {0xff, 0x25};         // jmp [rip + distance]
  constexpr std::uint64_t kNewWord = 24;
  constexpr std::uint64_t kOldWord = 16;
  if (!take(reader, kJmpAt)) return false;
  const auto distance = reader.read<std::uint32_t>();
  if (!distance) return false;
  const std::uint64_t word = reader.offset() + *distance;
  return word == kNewWord || word == kOldWord;
}

}  // namespace hodo::text
