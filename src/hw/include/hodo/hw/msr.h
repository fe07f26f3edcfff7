// Numbers of the model-specific registers of branch recording, debug store and sampling, and the
// way to reach registers (Intel SDM vol. 4; AMD APM vol. 2 and Linux
// arch/x86/include/asm/msr-index.h for AMD's). Intel PT's are in intel_pt.h.
#pragma once

#include <cstdint>

#include "hodo/base/result.h"
#include "hodo/hw/field.h"

namespace hodo::hw {

namespace msr {
inline constexpr std::uint32_t kMiscEnable = 0x1a0;
inline constexpr std::uint32_t kDebugctl = 0x1d9;
inline constexpr std::uint32_t kPerfCapabilities = 0x345;
inline constexpr std::uint32_t kPebsEnable = 0x3f1;
inline constexpr std::uint32_t kPebsDataCfg = 0x3f2;
inline constexpr std::uint32_t kDsArea = 0x600;
// Counter 0 of architectural performance monitoring, and the registers of its overflow.
inline constexpr std::uint32_t kPmc0 = 0xc1;
inline constexpr std::uint32_t kPerfEvtSel0 = 0x186;
inline constexpr std::uint32_t kPerfGlobalStatus = 0x38e;
inline constexpr std::uint32_t kPerfGlobalCtrl = 0x38f;
inline constexpr std::uint32_t kPerfGlobalOvfCtrl = 0x390;
// The local vector table's entry for performance monitoring interrupts, as x2APIC has it.
inline constexpr std::uint32_t kX2apicLvtPmi = 0x834;

inline constexpr std::uint32_t kLbrSelect = 0x1c8;
inline constexpr std::uint32_t kLbrTos = 0x1c9;
inline constexpr std::uint32_t kNetburstLbrTos = 0x1da;
inline constexpr std::uint32_t kLastBranchFromIp = 0x1db;
inline constexpr std::uint32_t kLastBranchToIp = 0x1dc;
inline constexpr std::uint32_t kLastIntFromIp = 0x1dd;  // from Core on: MSR_LER_FROM_LIP
inline constexpr std::uint32_t kLastIntToIp = 0x1de;
inline constexpr std::uint32_t kArchLerInfo = 0x1e0;  // IA32_LER_INFO, of architectural LBR
inline constexpr std::uint32_t kCoreLbrFrom = 0x40;   // Pentium M: both addresses in one register
inline constexpr std::uint32_t kCoreLbrTo = 0x60;
inline constexpr std::uint32_t kLbrFrom = 0x680;
inline constexpr std::uint32_t kLbrTo = 0x6c0;
inline constexpr std::uint32_t kLbrInfo = 0xdc0;

inline constexpr std::uint32_t kArchLbrInfo = 0x1200;
inline constexpr std::uint32_t kArchLbrCtl = 0x14ce;
inline constexpr std::uint32_t kArchLbrDepth = 0x14cf;
inline constexpr std::uint32_t kArchLbrFrom = 0x1500;
inline constexpr std::uint32_t kArchLbrTo = 0x1600;

inline constexpr std::uint32_t kAmdLbrSelect = 0xc000010e;
inline constexpr std::uint32_t kAmdDebugExtnCfg = 0xc000010f;
inline constexpr std::uint32_t kAmdPerfGlobalStatus = 0xc0000300;
inline constexpr std::uint32_t kAmdPerfGlobalCtl = 0xc0000301;
inline constexpr std::uint32_t kAmdPerfGlobalStatusClr = 0xc0000302;
inline constexpr std::uint32_t kAmdPerfCtl0 = 0xc0010200;
inline constexpr std::uint32_t kAmdPerfCtr0 = 0xc0010201;
inline constexpr std::uint32_t kAmdLbrFrom = 0xc0010300;  // FROM and TO alternate from here
}  // namespace msr

// IA32_MISC_ENABLE (SDM vol. 4): both read 1 where the feature is absent or switched off.
namespace misc_enable {
inline constexpr std::uint64_t kBtsUnavailable = 1ull << 11;
inline constexpr std::uint64_t kPebsUnavailable = 1ull << 12;
}  // namespace misc_enable

// IA32_PERF_CAPABILITIES (SDM vol. 4).
namespace perf_capabilities {
inline constexpr Field kLbrFmt{0, 6};
inline constexpr std::uint64_t kPebsTrap = 1ull << 6;
inline constexpr Field kPebsFmt{8, 4};
inline constexpr std::uint64_t kFreezeWhileSmm = 1ull << 12;
inline constexpr std::uint64_t kPebsBaseline = 1ull << 14;  // adaptive records for every event
}  // namespace perf_capabilities

// IA32_PERF_GLOBAL_STATUS, and the same bits of IA32_PERF_GLOBAL_OVF_CTRL, which clears them; AMD
// has bits 0 and 58 in the same places.
namespace perf_global_status {
inline constexpr std::uint64_t kOvfPmc0 = 1ull << 0;
inline constexpr std::uint64_t kLbrFrz = 1ull << 58;
inline constexpr std::uint64_t kCtrFrz = 1ull << 59;
inline constexpr std::uint64_t kOvfDsBuffer = 1ull << 62;  // PEBS reached its threshold
}  // namespace perf_global_status

namespace lvt {
inline constexpr std::uint64_t kMasked = 1ull << 16;
}  // namespace lvt

// The registers of one logical processor: a real one's, or those of the trace unit.
class MsrBus {
 public:
  virtual ~MsrBus() = default;
  // Errors: unsupported (RDMSR or WRMSR raises #GP: no such register, or a reserved bit is set);
  // those of the way there (io, not_permitted).
  virtual Result<std::uint64_t> read_msr(std::uint32_t number) = 0;
  virtual Status write_msr(std::uint32_t number, std::uint64_t value) = 0;
};

}  // namespace hodo::hw
