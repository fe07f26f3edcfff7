#include "patch_sites.h"

#include <algorithm>
#include <array>
#include <optional>

#include "hodo/base/byte_reader.h"
#include "hodo/isa/insn.h"

namespace hodo::text {
namespace {

// An entry of xray_instr_map, version 2 (XRaySledEntry in compiler-rt's xray_interface_internal.h):
// how far the sled and its function are from these words, a kind, whether it is always patched, a
// version, and padding.
constexpr std::uint64_t kEntry = 32;
constexpr std::uint8_t kVersion = 2;
enum Kind : std::uint8_t { entry, exit, tail, log_args, custom_event, typed_event };

// What it becomes (xray_x86_64.cpp): a number for the function, and a call or jump; the jump over
// an event becomes a NOP of its length.
std::size_t size_of(std::uint8_t kind) {
  constexpr std::size_t kWithNumber = 11;
  constexpr std::size_t kJump = 2;
  return kind == custom_event || kind == typed_event ? kJump : kWithNumber;
}

}  // namespace

std::vector<PatchSite> patch_sites(const ElfBytes& elf, const TextMap& text) {
  std::vector<PatchSite> out;
  const auto table = elf.is_narrow() ? std::nullopt : elf.section("xray_instr_map");
  if (!table) return out;
  const auto bytes = elf.at(*table);
  // Nothing says where it ends, but that what follows are no sleds.
  for (std::uint64_t at = 0; bytes.size() - at >= kEntry; at += kEntry) {
    ByteReader reader(bytes.subspan(at));
    const auto distance = reader.read<std::uint64_t>().value_or(0);
    if (!reader.take(8)) break;
    const auto kind = reader.read<std::uint8_t>().value_or(0xff);
    if (!reader.take(1)) break;
    const auto version = reader.read<std::uint8_t>().value_or(0);
    const std::uint64_t place = *table + at + distance;
    if (kind > typed_event || version != kVersion || !text.contains(place)) break;
    out.push_back({place, size_of(kind)});
  }
  std::ranges::sort(out, {}, &PatchSite::place);
  return out;
}

bool Module::is_patch(std::uint64_t place, std::span<const std::uint8_t> ran) const {
  constexpr std::array<std::uint8_t, 2> kNop = {0x66, 0x90};
  constexpr std::array<std::uint8_t, 2> kNumber = {0x41, 0xba};  // MOV R10D, imm32
  constexpr std::size_t kNumbered = 6;
  if (std::ranges::equal(ran, kNop)) return true;
  if (ran.size() <= kNumbered || !std::ranges::equal(ran.first(2), kNumber)) return false;
  const auto branch = isa::decode(ran.subspan(kNumbered), place + kNumbered, isa::Mode::bits64);
  if (!branch || branch->length != ran.size() - kNumbered) return false;
  const bool leads = branch->cls == isa::InsnClass::call || branch->cls == isa::InsnClass::jmp;
  return leads && has(branch->target, kStart);
}

}  // namespace hodo::text
