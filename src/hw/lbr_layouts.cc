// Which processor has which stack. Sources: SDM vol. 3, table "LBR Stack Size and TOS Pointer
// Range", and vol. 4 for the registers; Linux intel_pmu_init() (arch/x86/events/intel/core.c) with
// the intel_pmu_lbr_init_*() of lbr.c. Those with architectural LBR: the cores from Golden Cove and
// Gracemont on (so say the CPUID dumps in tests/hw/processors), by their models in Linux
// arch/x86/include/asm/intel-family.h.
#include <algorithm>
#include <iterator>

#include "hodo/hw/lbr.h"
#include "hodo/hw/msr.h"

namespace hodo::hw {
namespace {

// The stacks that came with one generation after the other.
constexpr LbrLayout kP6{
    .depth = 1, .last_int = true, .from = msr::kLastBranchFromIp, .to = msr::kLastBranchToIp};
constexpr LbrLayout kAmdPair{.depth = 1,
                             .read_only = true,
                             .last_int = true,
                             .from = msr::kLastBranchFromIp,
                             .to = msr::kLastBranchToIp,
                             .format = LbrFormat::lip};
// Pentium 4, models 0 to 2. Its registers and those of the next are R/W (SDM vol. 4, table "MSRs in
// the Pentium 4 and Intel Xeon Processors").
constexpr LbrLayout kWillamette{.depth = 4,
                                .packed = true,
                                .from = msr::kLastBranchFromIp,
                                .to = msr::kLastBranchFromIp,
                                .tos = msr::kNetburstLbrTos};
// Pentium 4, models 3, 4 and 6.
constexpr LbrLayout kPrescott{.depth = 16,
                              .from = msr::kLbrFrom,
                              .to = msr::kLbrTo,
                              .tos = msr::kNetburstLbrTos,
                              .format = LbrFormat::lip};
constexpr LbrLayout kPentiumM{.depth = 8,
                              .packed = true,
                              .from = msr::kCoreLbrFrom,
                              .to = msr::kCoreLbrFrom,
                              .tos = msr::kLbrTos};
constexpr LbrLayout kCore{.depth = 4,
                          .last_int = true,
                          .from = msr::kCoreLbrFrom,
                          .to = msr::kCoreLbrTo,
                          .tos = msr::kLbrTos,
                          .format = LbrFormat::lip};

constexpr LbrLayout deeper(LbrLayout layout, std::uint8_t depth) {
  layout.depth = depth;
  return layout;
}
constexpr LbrLayout filtered(LbrLayout layout) {
  layout.select = msr::kLbrSelect;
  return layout;
}
constexpr LbrLayout with_format(LbrLayout layout, LbrFormat format) {
  layout.format = format;
  return layout;
}
constexpr LbrLayout with_info(LbrLayout layout, LbrFormat format) {
  layout.info = msr::kLbrInfo;
  return with_format(layout, format);
}

constexpr LbrLayout kBonnell = deeper(kCore, 8);
constexpr LbrLayout kSilvermont = filtered(kBonnell);
constexpr LbrLayout kNehalem{.depth = 16,
                             .last_int = true,
                             .from = msr::kLbrFrom,
                             .to = msr::kLbrTo,
                             .tos = msr::kLbrTos,
                             .select = msr::kLbrSelect,
                             .format = LbrFormat::eip_flags};
constexpr LbrLayout call_stacked(LbrLayout layout) {
  layout.call_stack = true;
  return layout;
}
constexpr LbrLayout kHaswell = call_stacked(with_format(kNehalem, LbrFormat::eip_flags2));
constexpr LbrLayout kSkylake = with_info(deeper(kHaswell, 32), LbrFormat::info);
constexpr LbrLayout kGoldmont = with_format(deeper(kHaswell, 32), LbrFormat::time);
constexpr LbrLayout kGoldmontPlus = with_info(kGoldmont, LbrFormat::info2);
// Knights Landing says "lip" but sets the misprediction flag (Linux, intel_pmu_lbr_init_knl).
constexpr LbrLayout kKnightsLanding = deeper(kNehalem, 8);

constexpr LbrLayout kArch{.depth = LbrLayout::kMaxDepth,
                          .call_stack = true,
                          .last_int = true,
                          .from = msr::kArchLbrFrom,
                          .to = msr::kArchLbrTo,
                          .info = msr::kArchLbrInfo,
                          .select = msr::kArchLbrCtl,
                          .format = LbrFormat::arch};

struct Row {
  std::uint8_t model;
  const LbrLayout* layout;
};

// Family 6, by model.
constexpr Row kFamily6[] = {
    {0x01, &kP6},
    {0x03, &kP6},
    {0x05, &kP6},
    {0x06, &kP6},
    {0x07, &kP6},
    {0x08, &kP6},
    {0x09, &kPentiumM},
    {0x0a, &kP6},
    {0x0b, &kP6},
    {0x0d, &kPentiumM},
    {0x0e, &kPentiumM},
    {0x0f, &kCore},
    {0x16, &kCore},
    {0x17, &kCore},
    {0x1a, &kNehalem},
    {0x1c, &kBonnell},
    {0x1d, &kCore},
    {0x1e, &kNehalem},
    {0x1f, &kNehalem},
    {0x25, &kNehalem},
    {0x26, &kBonnell},
    {0x27, &kBonnell},
    {0x2a, &kNehalem},
    {0x2c, &kNehalem},
    {0x2d, &kNehalem},
    {0x2e, &kNehalem},
    {0x2f, &kNehalem},
    {0x35, &kBonnell},
    {0x36, &kBonnell},
    {0x37, &kSilvermont},
    {0x3a, &kNehalem},
    {0x3c, &kHaswell},
    {0x3d, &kHaswell},
    {0x3e, &kNehalem},
    {0x3f, &kHaswell},
    {0x45, &kHaswell},
    {0x46, &kHaswell},
    {0x47, &kHaswell},
    {0x4a, &kSilvermont},
    {0x4c, &kSilvermont},
    {0x4d, &kSilvermont},
    {0x4e, &kSkylake},
    {0x4f, &kHaswell},
    {0x55, &kSkylake},
    {0x56, &kHaswell},
    {0x57, &kKnightsLanding},
    {0x5a, &kSilvermont},
    {0x5c, &kGoldmont},
    {0x5d, &kSilvermont},
    {0x5e, &kSkylake},
    {0x5f, &kGoldmont},
    {0x66, &kSkylake},
    {0x6a, &kSkylake},
    {0x6c, &kSkylake},
    {0x75, &kSilvermont},
    {0x7a, &kGoldmontPlus},
    {0x7d, &kSkylake},
    {0x7e, &kSkylake},
    {0x85, &kKnightsLanding},
    {0x86, &kGoldmontPlus},
    {0x8a, &kSkylake},
    {0x8c, &kSkylake},
    {0x8d, &kSkylake},
    {0x8e, &kSkylake},
    {0x8f, &kArch},  // Sapphire Rapids
    {0x96, &kGoldmontPlus},
    {0x97, &kArch},  // Alder Lake
    {0x9a, &kArch},  // Alder Lake
    {0x9c, &kGoldmontPlus},
    {0x9d, &kSkylake},
    {0x9e, &kSkylake},
    {0xa5, &kSkylake},
    {0xa6, &kSkylake},
    {0xa7, &kSkylake},
    {0xaa, &kArch},  // Meteor Lake
    {0xac, &kArch},  // Meteor Lake
    {0xad, &kArch},  // Granite Rapids
    {0xae, &kArch},  // Granite Rapids
    {0xaf, &kArch},  // Sierra Forest
    {0xb5, &kArch},  // Arrow Lake
    {0xb6, &kArch},  // Grand Ridge
    {0xb7, &kArch},  // Raptor Lake
    {0xba, &kArch},  // Raptor Lake
    {0xbd, &kArch},  // Lunar Lake
    {0xbe, &kArch},  // Gracemont alone: Alder Lake N
    {0xbf, &kArch},  // Raptor Lake
    {0xc5, &kArch},  // Arrow Lake
    {0xc6, &kArch},  // Arrow Lake
    {0xcc, &kArch},  // Panther Lake
    {0xcf, &kArch},  // Emerald Rapids
    {0xd5, &kArch},  // Wildcat Lake
    {0xd7, &kArch},  // Bartlett Lake
    {0xdd, &kArch},  // Clearwater Forest
};
static_assert(std::ranges::is_sorted(kFamily6, {}, &Row::model));

std::optional<LbrLayout> netburst_layout(unsigned model) {
  if (model <= 2) return kWillamette;
  if (model == 3 || model == 4 || model == 6) return kPrescott;
  return std::nullopt;
}

std::optional<LbrLayout> intel_layout(const Signature& processor) {
  if (processor.family == 0xf) return netburst_layout(processor.model);
  if (processor.family != 6) return std::nullopt;
  const auto* const row = std::ranges::lower_bound(kFamily6, processor.model, {}, &Row::model);
  if (row == std::end(kFamily6) || row->model != processor.model) return std::nullopt;
  return *row->layout;
}

// Zen 4 and Zen 5 by model (Linux bsp_init_amd, arch/x86/kernel/cpu/amd.c).
bool has_lbr_ext_v2(const Signature& processor) {
  const unsigned model = processor.model;
  if (processor.family == 0x19) return model >> 4 == 1 || (model >= 0x60 && model <= 0xaf);
  return processor.family == 0x1a;
}

}  // namespace

std::optional<LbrLayout> lbr_layout(const Signature& processor) {
  if (processor.vendor == Vendor::amd && processor.family >= 6) return kAmdPair;
  if (processor.vendor != Vendor::intel) return std::nullopt;
  const auto layout = intel_layout(processor);
  if (layout && layout->format == LbrFormat::arch) return std::nullopt;
  return layout;
}

std::optional<LbrLayout> lbr_layout_by_model(const Signature& processor) {
  constexpr unsigned kAmdDepth = 16;
  if (processor.vendor == Vendor::intel) return intel_layout(processor);
  if (processor.vendor != Vendor::amd || processor.family < 6) return std::nullopt;
  return has_lbr_ext_v2(processor) ? amd_lbr_layout(kAmdDepth) : kAmdPair;
}

std::optional<LbrLayout> lbr_layout_by_format(LbrFormat format) {
  switch (format) {
    case LbrFormat::bits32:
    case LbrFormat::lip:
    case LbrFormat::eip:
      return std::nullopt;  // at 40H on some processors, at 680H on others
    case LbrFormat::eip_flags:
    case LbrFormat::eip_flags2:
    case LbrFormat::time:
      return with_format(kGoldmont, format);
    case LbrFormat::info:
    case LbrFormat::info2:
      return with_info(kSkylake, format);
    case LbrFormat::arch:
      return kArch;
    case LbrFormat::amd_v2:
      return amd_lbr_layout(LbrLayout::kMaxDepth);
  }
  return std::nullopt;
}

LbrLayout arch_lbr_layout(unsigned depth, bool call_stack) {
  LbrLayout out = deeper(kArch, static_cast<std::uint8_t>(std::min(depth, LbrLayout::kMaxDepth)));
  out.call_stack = call_stack;
  return out;
}

LbrLayout amd_lbr_layout(unsigned depth) {
  return {.depth = static_cast<std::uint8_t>(std::min(depth, LbrLayout::kMaxDepth)),
          .stride = 2,
          .from = msr::kAmdLbrFrom,
          .to = msr::kAmdLbrFrom + 1,
          .select = msr::kAmdLbrSelect,
          .format = LbrFormat::amd_v2};
}

}  // namespace hodo::hw
