// Records of precise event-based sampling, read and written (SDM vol. 3, "Precise Event Based
// Sampling (PEBS)" and "Adaptive PEBS"; Linux arch/x86/events/intel/ds.c, struct pebs_record_*, and
// arch/x86/include/asm/perf_event.h, struct pebs_basic to pebs_xmm).
//
// Formats 0 to 3 are one fixed record each, longer from one to the next:
//
//   0: eflags ip | ax bx cx dx si di bp sp | r8 .. r15             144 bytes
//   1: .. status | data address | data source | latency            176
//   2: .. eventing ip | TSX tuning                                 192
//   3: .. TSC                                                      200
//   (32-bit DS area: eflags ip ax bx cx dx si di bp sp, 4 bytes each, 40)
//
// From format 4 on a record begins with a header that says which groups follow, in this order:
//
//   basic:  groups and size | ip | counters | TSC                   32 bytes, always there
//   memory: data address | data source | latency | TSX tuning       32
//   GPRs:   eflags ip | ax cx dx bx sp bp si di | r8 .. r15        144
//   XMMs:   xmm0 .. xmm15                                          256
//   LBRs:   from | to | info, newest first                          24 each
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/byte_reader.h"
#include "hodo/base/result.h"
#include "hodo/hw/bts.h"
#include "hodo/hw/field.h"
#include "hodo/hw/lbr.h"

namespace hodo::hw {

// MSR_PEBS_DATA_CFG, and the low half of an adaptive record's header.
namespace pebs_data_cfg {
inline constexpr std::uint64_t kMemory = 1ull << 0;
inline constexpr std::uint64_t kGprs = 1ull << 1;
inline constexpr std::uint64_t kXmms = 1ull << 2;
inline constexpr std::uint64_t kLbrs = 1ull << 3;
inline constexpr Field kLbrEntries{24, 8};  // less one
inline constexpr std::uint64_t kKnown = kMemory | kGprs | kXmms | kLbrs | kLbrEntries.mask();
}  // namespace pebs_data_cfg

struct PebsRegisters {
  std::uint64_t flags = 0;
  std::uint64_t ip = 0;  // of the instruction after the one that raised the event
  // As instructions encode them: ax cx dx bx sp bp si di r8 .. r15.
  std::array<std::uint64_t, 16> gpr{};

  friend bool operator==(const PebsRegisters&, const PebsRegisters&) = default;
};

struct PebsMemory {
  std::uint64_t address = 0;
  std::uint64_t source = 0;   // encoded by processor model
  std::uint64_t latency = 0;  // core cycles
  std::uint64_t tsx_tuning = 0;

  friend bool operator==(const PebsMemory&, const PebsMemory&) = default;
};

// A record of any format; what its format does not have is absent or 0.
struct PebsRecord {
  std::uint64_t event_ip = 0;  // of the instruction that raised the event; before format 2: 0
  std::uint64_t counters = 0;  // bit n: counter n overflowed; before format 1: 0
  std::uint64_t tsc = 0;
  std::uint16_t retire_latency = 0;  // format 5 on
  std::optional<PebsMemory> memory;
  std::optional<PebsRegisters> registers;
  std::optional<std::array<std::uint64_t, 32>> xmm;  // low and high half of each
  std::vector<LbrRegisters> lbr;                     // newest first
  std::uint32_t unknown_bytes = 0;  // of groups that are newer than this code, passed over

  friend bool operator==(const PebsRecord&, const PebsRecord&) = default;
};

// How a processor writes records: IA32_PERF_CAPABILITIES[11:8], and CPUID's DTES64.
struct PebsFormat {
  unsigned number = 0;
  DsLayout layout = DsLayout::bits64;

  bool adaptive() const { return number >= 4; }
};

// The size of each record; for an adaptive format by what MSR_PEBS_DATA_CFG asks for.
std::size_t pebs_record_bytes(const PebsFormat& format, std::uint64_t data_cfg = 0);

// Reads the next record. Errors: truncated (the bytes end inside the record; its offset);
// malformed (an adaptive header whose size is less than its groups need).
Result<PebsRecord> read_pebs_record(ByteReader& in, const PebsFormat& format);

// Writes what the format has of `record`, for an adaptive one the groups that `data_cfg` asks for.
// `out` has room for pebs_record_bytes(format, data_cfg). Absent groups are written as 0.
void write_pebs_record(const PebsRecord& record, const PebsFormat& format, std::uint64_t data_cfg,
                       std::span<std::uint8_t> out);

}  // namespace hodo::hw
