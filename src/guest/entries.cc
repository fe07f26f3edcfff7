#include "hodo/guest/entries.h"

#include <algorithm>
#include <array>

namespace hodo::guest {
namespace {

constexpr unsigned kVectors = 256;

struct GateDescriptor {
  std::uint16_t offset_low;
  std::uint16_t segment;
  std::uint8_t stack;
  std::uint8_t type;  // 7: present
  std::uint16_t offset_middle;
  std::uint32_t offset_high;
  std::uint32_t reserved;

  bool present() const { return (type & 0x80) != 0; }
  std::uint64_t offset() const {
    return offset_low | std::uint64_t{offset_middle} << 16 | std::uint64_t{offset_high} << 32;
  }
};
static_assert(sizeof(GateDescriptor) == 16);

}  // namespace

std::optional<unsigned> KernelEntries::vector(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(gates, address, {}, &Gate::address);
  if (found == gates.end() || found->address != address) return std::nullopt;
  return found->vector;
}

bool KernelEntries::contains(std::uint64_t address) const {
  return vector(address).has_value() ||
         std::ranges::find(system_calls, address) != system_calls.end();
}

Result<KernelEntries> read_entries(const VirtualMemory& memory, const Kernel& kernel) {
  KernelEntries out;
  const std::uint64_t table = kernel.address_of("idt_table");
  out.switch_to = kernel.address_of("__switch_to_asm");
  out.rename = kernel.address_of("__set_task_comm");
  const bool trampoline = kernel.address_of("entry_SYSCALL_64_trampoline") != 0;
  for (const char* name : {"entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER_compat"}) {
    const std::uint64_t address = kernel.address_of(name);
    if (address != 0) out.system_calls.push_back(address);
  }
  if (table == 0 || out.switch_to == 0 || out.system_calls.empty() || trampoline) {
    return fail(ErrorCode::unsupported, "where the guest's kernel is entered is not known");
  }
  const auto idt = memory.read<std::array<GateDescriptor, kVectors>>(table);
  if (!idt) return fail(ErrorCode::not_found, "the guest's interrupt table is not mapped");
  for (unsigned vector = 0; vector < kVectors; ++vector) {
    const GateDescriptor& gate = (*idt)[vector];
    if (gate.present()) out.gates.push_back({gate.offset(), vector});
  }
  if (out.gates.empty()) return fail(ErrorCode::not_found, "the guest's interrupt table is empty");
  std::ranges::stable_sort(out.gates, {}, &KernelEntries::Gate::address);
  const auto repeated = std::ranges::unique(out.gates, {}, &KernelEntries::Gate::address);
  out.gates.erase(repeated.begin(), repeated.end());
  return out;
}

}  // namespace hodo::guest
