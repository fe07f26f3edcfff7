// Last branch records: the registers of every kind of stack, and what the bits in them mean (SDM
// vol. 3, "Last Branch Records" and "Last Branch, Interrupt, and Exception Recording"; Linux
// arch/x86/events/intel/lbr.c and arch/x86/events/amd/lbr.c).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hodo/hw/branch_class.h"
#include "hodo/hw/cpuid.h"
#include "hodo/hw/field.h"

namespace hodo::hw {

// How addresses and flags lie in a record. 0 to 7 and 63 are IA32_PERF_CAPABILITIES.LBR_FMT; the
// others have no number there.
enum class LbrFormat : std::uint8_t {
  bits32 = 0,      // 32-bit addresses. In one register (see LbrLayout::packed): TO above FROM
  lip = 1,         // linear addresses
  eip = 2,         // effective addresses
  eip_flags = 3,   // FROM: bit 63 mispredicted
  eip_flags2 = 4,  // FROM: bit 63 mispredicted, 62 in a transaction, 61 abort
  info = 5,        // flags and cycles in LBR_INFO
  time = 6,        // FROM: bit 63 mispredicted; TO: bits 63:48 cycles
  info2 = 7,       // linear addresses; mispredicted and cycles in LBR_INFO, no transactions
  arch = 63,       // architectural LBR: as info, with cycles-valid and branch type
  amd_v2 = 64,     // LbrExtV2: FROM bit 63 mispredicted; TO bit 63 valid, 62 speculative
};

// "info", "eip_flags2"; "unknown" for numbers that no processor is known to use.
std::string_view name(LbrFormat format);
// The format with that LBR_FMT number; nullopt if none has it.
std::optional<LbrFormat> lbr_format(unsigned number);

// IA32_LBR_x_INFO (SDM, "LBR_INFO").
namespace lbr_info {
inline constexpr std::uint64_t kMispred = 1ull << 63;
inline constexpr std::uint64_t kInTx = 1ull << 62;
inline constexpr std::uint64_t kAbort = 1ull << 61;
inline constexpr std::uint64_t kCycCntValid = 1ull << 60;  // architectural LBR only
inline constexpr Field kBrType{56, 4};                     // likewise
inline constexpr Field kCycles{0, 16};                     // saturates
}  // namespace lbr_info

// MSR_LBR_SELECT: a set bit suppresses that kind of branch, but for the last (SDM, table
// "MSR_LBR_SELECT"). AMD's has the first nine.
namespace lbr_select {
inline constexpr std::uint64_t kCplEq0 = 1ull << 0;  // branches that end in ring 0
inline constexpr std::uint64_t kCplNeq0 = 1ull << 1;
inline constexpr std::uint64_t kJcc = 1ull << 2;
inline constexpr std::uint64_t kNearRelCall = 1ull << 3;
inline constexpr std::uint64_t kNearIndCall = 1ull << 4;
inline constexpr std::uint64_t kNearRet = 1ull << 5;
inline constexpr std::uint64_t kNearIndJmp = 1ull << 6;
inline constexpr std::uint64_t kNearRelJmp = 1ull << 7;
inline constexpr std::uint64_t kFarBranch = 1ull << 8;
inline constexpr std::uint64_t kEnCallstack = 1ull << 9;
}  // namespace lbr_select

// IA32_LBR_CTL of architectural LBR: a set bit records (SDM, "IA32_LBR_CTL MSR").
namespace arch_lbr_ctl {
inline constexpr std::uint64_t kLbrEn = 1ull << 0;
inline constexpr std::uint64_t kOs = 1ull << 1;
inline constexpr std::uint64_t kUsr = 1ull << 2;
inline constexpr std::uint64_t kCallStack = 1ull << 3;
inline constexpr std::uint64_t kJcc = 1ull << 16;
inline constexpr std::uint64_t kNearRelJmp = 1ull << 17;
inline constexpr std::uint64_t kNearIndJmp = 1ull << 18;
inline constexpr std::uint64_t kNearRelCall = 1ull << 19;
inline constexpr std::uint64_t kNearIndCall = 1ull << 20;
inline constexpr std::uint64_t kNearRet = 1ull << 21;
inline constexpr std::uint64_t kOther = 1ull << 22;
inline constexpr std::uint64_t kAllBranches = 0x7f0000;
}  // namespace arch_lbr_ctl

// DBG_EXTN_CFG of AMD LbrExtV2.
namespace amd_debug_extn_cfg {
inline constexpr std::uint64_t kLbrV2En = 1ull << 6;
}  // namespace amd_debug_extn_cfg

// One processor's stack. A record is FROM(n), TO(n) and INFO(n).
struct LbrLayout {
  static constexpr unsigned kMaxDepth = 64;

  std::uint8_t depth = 0;    // records; 0: there is no stack
  std::uint8_t stride = 1;   // from one record's register to the next one's
  bool read_only = false;    // software cannot empty it
  bool packed = false;       // FROM and TO are halves of one register: 31:0 and 63:32
  bool call_stack = false;   // can keep the calls that have not returned
  bool last_int = false;     // 1DDH and 1DEH hold the branch before the last interrupt
  std::uint32_t from = 0;    // MSR of record 0
  std::uint32_t to = 0;      // likewise; the same as `from` if packed
  std::uint32_t info = 0;    // likewise; 0: there is none
  std::uint32_t tos = 0;     // MSR with the newest record's number; 0: record 0 is the newest
  std::uint32_t select = 0;  // LBR_SELECT, IA32_LBR_CTL or AMD's LBR_SELECT; 0: no filter
  LbrFormat format = LbrFormat::bits32;

  std::uint32_t from_msr(unsigned n) const { return from + n * stride; }
  std::uint32_t to_msr(unsigned n) const { return to + n * stride; }
  std::uint32_t info_msr(unsigned n) const { return info + n * stride; }
  friend bool operator==(const LbrLayout&, const LbrLayout&) = default;
};

// The stack of a processor by its family and model; nullopt if it is not in the table, or its stack
// is architectural or AMD's LbrExtV2: ask CPUID then (find_lbr in features.h). The format is what
// such processors say in IA32_PERF_CAPABILITIES, which counts where it can be read. Every stepping
// counts, also those of the first Atoms whose stack does not freeze, so that Linux does not use it
// (intel_pmu_lbr_init_atom).
std::optional<LbrLayout> lbr_layout(const Signature& processor);
// The stack that processors of this family and model have unless a hypervisor hides it, of
// whichever kind; the depth of an architectural one is the largest possible. For registers that
// somebody wrote down without CPUID's answers.
std::optional<LbrLayout> lbr_layout_by_model(const Signature& processor);
// Where all processors with this format have their registers, with the largest depth that any of
// them has; nullopt if they do not agree.
std::optional<LbrLayout> lbr_layout_by_format(LbrFormat format);
// Architectural LBR of `depth` records (8 to 64), and LbrExtV2.
LbrLayout arch_lbr_layout(unsigned depth, bool call_stack);
LbrLayout amd_lbr_layout(unsigned depth);

// A record as its registers hold it.
struct LbrRegisters {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t info = 0;

  friend bool operator==(const LbrRegisters&, const LbrRegisters&) = default;
};

// A record as it is meant.
struct LbrEntry {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint16_t cycles = 0;  // since the record before; 0: unknown
  bool mispredicted = false;
  bool in_tx = false;
  bool abort = false;
  bool wrong_path = false;          // AMD: speculative, and not taken in the end
  std::optional<BranchClass> type;  // architectural LBR only

  friend bool operator==(const LbrEntry&, const LbrEntry&) = default;
};

// Bits of a linear address: 48, or 57 with LA57. Only amd_v2 needs to know.
inline constexpr unsigned kAddressBits = 48;

// What the registers mean; nullopt for a record that nothing was written to, and for one that AMD's
// erratum 1452 left there.
std::optional<LbrEntry> decode_lbr(const LbrRegisters& registers, LbrFormat format,
                                   unsigned address_bits = kAddressBits);
// The inverse: what a processor writes for `entry`. What the format has no place for is dropped.
LbrRegisters encode_lbr(const LbrEntry& entry, LbrFormat format);

// FROM and TO of a packed register (NetBurst models 0 to 2, Pentium M, Core Duo).
constexpr LbrRegisters unpack_lbr(std::uint64_t value) {
  return {value & 0xffffffff, value >> 32, 0};
}
constexpr std::uint64_t pack_lbr(const LbrRegisters& record) {
  return record.to << 32 | (record.from & 0xffffffff);
}

}  // namespace hodo::hw
