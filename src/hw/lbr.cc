#include "hodo/hw/lbr.h"

namespace hodo::hw {
namespace {

constexpr std::uint64_t kFromMispred = 1ull << 63;
constexpr std::uint64_t kFromInTx = 1ull << 62;
constexpr std::uint64_t kFromAbort = 1ull << 61;
constexpr Field kToCycles{48, 16};
constexpr std::uint64_t kAmdToValid = 1ull << 63;
constexpr std::uint64_t kAmdToSpec = 1ull << 62;
// Reserved; set in what is no branch, whatever the bits above say (Revision Guide for AMD Family
// 19h Models 10h-1Fh, erratum 1452; Linux amd_pmu_lbr_read).
constexpr std::uint64_t kAmdToErroneous = 1ull << 61;
constexpr unsigned kAmdAddressBits = 58;

// The low `bits` of an address, its highest bit repeated above.
constexpr std::uint64_t sign_extend(std::uint64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

void take_info(LbrEntry& entry, std::uint64_t info, LbrFormat format) {
  entry.mispredicted = (info & lbr_info::kMispred) != 0;
  entry.cycles = static_cast<std::uint16_t>(lbr_info::kCycles.get(info));
  if (format == LbrFormat::info2) return;
  entry.in_tx = (info & lbr_info::kInTx) != 0;
  entry.abort = (info & lbr_info::kAbort) != 0;
  if (format == LbrFormat::info) return;
  if (!(info & lbr_info::kCycCntValid)) entry.cycles = 0;
  // SDM, BR_TYPE: 6 and 7 are reserved, 8 and up is "other".
  const auto type = static_cast<unsigned>(lbr_info::kBrType.get(info));
  constexpr auto kOther = static_cast<unsigned>(BranchClass::other);
  if (type <= static_cast<unsigned>(BranchClass::ret)) entry.type = static_cast<BranchClass>(type);
  if (type >= kOther) entry.type = BranchClass::other;
}

LbrEntry decode_amd(const LbrRegisters& r, unsigned address_bits) {
  return {.from = sign_extend(r.from, address_bits),
          .to = sign_extend(r.to, address_bits),
          .mispredicted = (r.from & kFromMispred) != 0,
          .wrong_path = (r.to & kAmdToValid) == 0};
}

std::uint64_t info_word(const LbrEntry& entry, LbrFormat format) {
  std::uint64_t out = lbr_info::kCycles.set(0, entry.cycles);
  if (entry.mispredicted) out |= lbr_info::kMispred;
  if (format == LbrFormat::info2) return out;
  if (entry.in_tx) out |= lbr_info::kInTx;
  if (entry.abort) out |= lbr_info::kAbort;
  if (format == LbrFormat::info) return out;
  if (entry.cycles != 0) out |= lbr_info::kCycCntValid;
  if (entry.type) out = lbr_info::kBrType.set(out, static_cast<std::uint64_t>(*entry.type));
  return out;
}

// An address with the top `flag_bits` free for flags.
constexpr std::uint64_t below(std::uint64_t address, unsigned flag_bits) {
  return address & (~0ull >> flag_bits);
}

}  // namespace

std::string_view name(LbrFormat format) {
  switch (format) {
    case LbrFormat::bits32:
      return "32-bit";
    case LbrFormat::lip:
      return "lip";
    case LbrFormat::eip:
      return "eip";
    case LbrFormat::eip_flags:
      return "eip_flags";
    case LbrFormat::eip_flags2:
      return "eip_flags2";
    case LbrFormat::info:
      return "info";
    case LbrFormat::time:
      return "time";
    case LbrFormat::info2:
      return "info2";
    case LbrFormat::arch:
      return "arch";
    case LbrFormat::amd_v2:
      return "amd_v2";
  }
  return "unknown";
}

std::optional<LbrFormat> lbr_format(unsigned number) {
  constexpr auto kLast = static_cast<unsigned>(LbrFormat::info2);
  if (number > kLast && number != static_cast<unsigned>(LbrFormat::arch)) return std::nullopt;
  return static_cast<LbrFormat>(number);
}

std::optional<LbrEntry> decode_lbr(const LbrRegisters& r, LbrFormat format, unsigned address_bits) {
  LbrEntry out{.from = r.from, .to = r.to};
  switch (format) {
    case LbrFormat::amd_v2:
      if (!(r.to & (kAmdToValid | kAmdToSpec)) || (r.to & kAmdToErroneous)) return std::nullopt;
      return decode_amd(r, address_bits);
    case LbrFormat::bits32:
      out.from &= 0xffffffff;
      out.to &= 0xffffffff;
      break;
    case LbrFormat::lip:
    case LbrFormat::eip:
      break;
    case LbrFormat::eip_flags:
      out.mispredicted = (r.from & kFromMispred) != 0;
      out.from = sign_extend(r.from, 63);
      break;
    case LbrFormat::eip_flags2:
      out.mispredicted = (r.from & kFromMispred) != 0;
      out.in_tx = (r.from & kFromInTx) != 0;
      out.abort = (r.from & kFromAbort) != 0;
      out.from = sign_extend(r.from, 61);
      break;
    case LbrFormat::time:
      out.mispredicted = (r.from & kFromMispred) != 0;
      out.from = sign_extend(r.from, 63);
      out.cycles = static_cast<std::uint16_t>(kToCycles.get(r.to));
      out.to = sign_extend(r.to, 48);
      break;
    case LbrFormat::info:
    case LbrFormat::info2:
    case LbrFormat::arch:
      take_info(out, r.info, format);
      break;
  }
  if (out.from == 0 && out.to == 0) return std::nullopt;
  return out;
}

LbrRegisters encode_lbr(const LbrEntry& entry, LbrFormat format) {
  LbrRegisters out{entry.from, entry.to, 0};
  const std::uint64_t mispred = entry.mispredicted ? kFromMispred : 0;
  switch (format) {
    case LbrFormat::bits32:
      return {entry.from & 0xffffffff, entry.to & 0xffffffff, 0};
    case LbrFormat::lip:
    case LbrFormat::eip:
      return out;
    case LbrFormat::eip_flags:
      out.from = below(entry.from, 1) | mispred;
      return out;
    case LbrFormat::eip_flags2:
      out.from = below(entry.from, 3) | mispred | (entry.in_tx ? kFromInTx : 0) |
                 (entry.abort ? kFromAbort : 0);
      return out;
    case LbrFormat::time:
      out.from = below(entry.from, 1) | mispred;
      out.to = kToCycles.set(entry.to, entry.cycles);
      return out;
    case LbrFormat::amd_v2:
      out.from = below(entry.from, 64 - kAmdAddressBits) | mispred;
      out.to =
          below(entry.to, 64 - kAmdAddressBits) | (entry.wrong_path ? kAmdToSpec : kAmdToValid);
      return out;
    case LbrFormat::info:
    case LbrFormat::info2:
    case LbrFormat::arch:
      out.info = info_word(entry, format);
      return out;
  }
  return out;
}

}  // namespace hodo::hw
