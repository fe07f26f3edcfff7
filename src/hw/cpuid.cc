#include "hodo/hw/cpuid.h"

#include "hodo/hw/field.h"

namespace hodo::hw {

Signature decode_signature(Vendor vendor, std::uint32_t leaf1_eax) {
  constexpr Field kStepping{0, 4}, kModel{4, 4}, kFamily{8, 4}, kExtModel{16, 4}, kExtFamily{20, 8};
  std::uint64_t family = kFamily.get(leaf1_eax);
  std::uint64_t model = kModel.get(leaf1_eax);
  // SDM: the extended model counts for families 6 and 15; AMD APM: for 15 only, and AMD made no
  // family 6 with an extended model.
  if (family == 0x6 || family == 0xf) model += kExtModel.get(leaf1_eax) << 4;
  if (family == 0xf) family += kExtFamily.get(leaf1_eax);
  return {.vendor = vendor,
          .family = static_cast<std::uint16_t>(family),
          .model = static_cast<std::uint16_t>(model),
          .stepping = static_cast<std::uint8_t>(kStepping.get(leaf1_eax))};
}

bool is_p6_or_later(const Signature& processor) {
  return processor.vendor == Vendor::intel && (processor.family == 6 || processor.family > 15);
}

}  // namespace hodo::hw
