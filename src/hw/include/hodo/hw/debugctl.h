// IA32_DEBUGCTL: which bit does what, and which bits a processor has (SDM vol. 3, "IA32_DEBUGCTL
// MSR"; the older layouts in the sections on NetBurst, Pentium M and P6 processors; AMD APM vol. 2,
// "DebugCtl MSR").
#pragma once

#include <cstdint>

namespace hodo::hw {

namespace debugctl {
inline constexpr std::uint64_t kLbr = 1ull << 0;
inline constexpr std::uint64_t kBtf = 1ull << 1;  // EFLAGS.TF steps branches, not instructions
inline constexpr std::uint64_t kBld = 1ull << 2;  // #DB on bus locks
inline constexpr std::uint64_t kTr = 1ull << 6;   // make branch trace messages
inline constexpr std::uint64_t kBts = 1ull << 7;  // with TR: store them in the DS area
inline constexpr std::uint64_t kBtint = 1ull << 8;
inline constexpr std::uint64_t kBtsOffOs = 1ull << 9;
inline constexpr std::uint64_t kBtsOffUsr = 1ull << 10;
inline constexpr std::uint64_t kFreezeLbrsOnPmi = 1ull << 11;
inline constexpr std::uint64_t kFreezePerfmonOnPmi = 1ull << 12;
inline constexpr std::uint64_t kUncorePmiEn = 1ull << 13;
inline constexpr std::uint64_t kFreezeWhileSmm = 1ull << 14;
inline constexpr std::uint64_t kRtmDebug = 1ull << 15;
}  // namespace debugctl

// Where one processor has the bits above; 0: it does not have that one, and setting the bit faults.
struct DebugctlLayout {
  std::uint64_t lbr = 0;
  std::uint64_t btf = 0;
  std::uint64_t tr = 0;
  std::uint64_t bts = 0;
  std::uint64_t btint = 0;
  std::uint64_t bts_off_os = 0;
  std::uint64_t bts_off_usr = 0;
  std::uint64_t freeze_lbrs_on_pmi = 0;
  std::uint64_t freeze_perfmon_on_pmi = 0;
  std::uint64_t others = 0;   // may be set, and do nothing that branch recording sees
  std::uint64_t ignored = 0;  // writes are discarded, without a fault; read as 0

  // A write with any other bit raises #GP.
  std::uint64_t allowed() const {
    return lbr | btf | tr | bts | btint | bts_off_os | bts_off_usr | freeze_lbrs_on_pmi |
           freeze_perfmon_on_pmi | others | ignored;
  }
  friend bool operator==(const DebugctlLayout&, const DebugctlLayout&) = default;
};

}  // namespace hodo::hw
