// Branch trace store records (SDM vol. 3, "BTS and DS Save Area": "Branch trace record format").
//
//   64-bit (DTES64), 24 bytes:   from 8 | to 8 | flags 8
//   32-bit, 12 bytes:            from 4 | to 4 | flags 4
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/base/byte_reader.h"

namespace hodo::hw {

// How wide the fields of the DS area and of BTS records are. The processor decides it, for programs
// of any width: 64 bits where CPUID.1:ECX.DTES64 is set. Manuals from before that flag (SDM vol. 3
// of 2009, "DS Save Area and IA-32e Mode Operation") say: where IA-32e mode is active.
enum class DsLayout : std::uint8_t { bits32, bits64 };

constexpr std::size_t word_bytes(DsLayout layout) { return layout == DsLayout::bits64 ? 8 : 4; }
constexpr std::size_t bts_record_bytes(DsLayout layout) { return 3 * word_bytes(layout); }

namespace bts_flags {
inline constexpr std::uint64_t kPredicted = 1ull << 4;
}  // namespace bts_flags

// As it lies in memory with DTES64.
struct BtsRecord {
  std::uint64_t from =
      0;  // of the branch instruction; of an interrupt: the instruction interrupted
  std::uint64_t to = 0;
  std::uint64_t flags = 0;

  bool predicted() const { return (flags & bts_flags::kPredicted) != 0; }
  friend bool operator==(const BtsRecord&, const BtsRecord&) = default;
};
static_assert(sizeof(BtsRecord) == bts_record_bytes(DsLayout::bits64));

// The next record; nullopt (and no movement) if less than a whole one is left.
inline std::optional<BtsRecord> read_bts_record(ByteReader& in, DsLayout layout) {
  if (layout == DsLayout::bits64) return in.read<BtsRecord>();
  struct Narrow {
    std::uint32_t from, to, flags;
  };
  const auto narrow = in.read<Narrow>();
  if (!narrow) return std::nullopt;
  return BtsRecord{narrow->from, narrow->to, narrow->flags};
}

// Writes a record to `out`, which has room for bts_record_bytes(layout). The 32-bit layout keeps
// the low half of each field.
void write_bts_record(const BtsRecord& record, DsLayout layout, std::span<std::uint8_t> out);

}  // namespace hodo::hw
