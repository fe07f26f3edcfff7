#include "hodo/guest/running.h"

#include <optional>

namespace hodo::guest {
namespace {

constexpr std::uint64_t kTable = 0x000f'ffff'ffff'f000;  // address bits of CR3
// PTI_USER_PGTABLE_BIT (arch/x86/include/asm/pgtable.h)
constexpr std::uint64_t kUserHalf = 1 << 12;
// X86_FEATURE_PTI (arch/x86/include/asm/cpufeatures.h): word 7, bit 11.
constexpr std::uint32_t kPtiWord = 7, kPtiBit = 11;

// Where the handler of page faults (vector 14) begins: SDM vol. 3, "64-Bit Mode IDT".
std::optional<std::uint64_t> page_fault_handler(const VirtualMemory& memory, std::uint64_t idt) {
  struct Gate {
    std::uint16_t low, selector, attributes, middle;
    std::uint32_t high, reserved;
  };
  const auto gate = memory.read<Gate>(idt + 14 * sizeof(Gate));
  if (!gate) return std::nullopt;
  return gate->low | std::uint64_t{gate->middle} << 16 | std::uint64_t{gate->high} << 32;
}

bool has_isolation(const VirtualMemory& memory, const Kernel& kernel) {
  const std::uint64_t words = kernel.address_of("boot_cpu_data") + kernel.layout.cpuinfo.capability;
  const auto word = memory.read<std::uint32_t>(words + kPtiWord * sizeof(std::uint32_t));
  return word && (*word >> kPtiBit & 1) != 0;
}

}  // namespace

std::uint64_t table_of(std::uint64_t cr3, bool isolated) {
  return cr3 & kTable & (isolated ? ~kUserHalf : ~std::uint64_t{0});
}

Result<RunningKernel> find_running_kernel(const PhysicalMemory& memory,
                                          std::span<const ProcessorState> processors) {
  Error why{ErrorCode::not_found, "no processor of the guest runs in 64-bit mode"};
  for (const ProcessorState& processor : processors) {
    if (!processor.long_mode()) continue;
    // The user half of an isolated kernel maps its entry code only, which is where the table leads.
    Paging paging = processor.paging();
    const auto text = page_fault_handler({memory, paging}, processor.idt);
    if (!text) continue;
    for (const std::uint64_t other_half : {kUserHalf, std::uint64_t{0}}) {
      if (other_half != 0 && (processor.cr3 & kUserHalf) == 0) continue;
      paging.cr3 = processor.cr3 & kTable & ~other_half;
      const VirtualMemory space(memory, paging);
      auto kernel = find_kernel(space, *text);
      if (!kernel) {
        why = kernel.error();
        continue;
      }
      if (!space.mapped(kernel->init_task)) continue;
      const bool isolated = has_isolation(space, *kernel);
      return RunningKernel{std::move(*kernel), paging, isolated};
    }
  }
  return std::unexpected(why);
}

}  // namespace hodo::guest
