#include "machine.h"

#include <algorithm>

#include "emulator_function.h"
#include "hodo/base/page.h"
#include "kernel_layout.h"

namespace hodo::plugin {
namespace {

// SDM vol. 3, "Control Registers"; vol. 4, IA32_EFER.
constexpr std::uint64_t kProtected = 1, kPagingOn = 1ULL << 31;  // CR0
constexpr std::uint64_t kFiveLevels = 1 << 12;                   // CR4.LA57
constexpr std::uint64_t kLongMode = 1 << 10;                     // EFER.LMA
constexpr std::uint64_t kVirtual8086 = 1 << 17;                  // EFLAGS.VM

constexpr std::uint64_t kUserCs = 0x33, kUser32Cs = 0x23;

}  // namespace

bool Machine::attach() {
  return registers_.attach(true) && find_function(copy_, "cpu_physical_memory_rw") &&
         find_function(is_device_, "cpu_physical_memory_is_io");
}

bool Machine::sane(void* cpu) const {
  // After a reset, or in any later state: CR0.ET is always set, RFLAGS has bit 1 set and the upper
  // half clear, and paging needs protection.
  constexpr std::uint64_t kEt = 1 << 4;
  const std::uint64_t cr0 = read(cpu, Register::cr0);
  const std::uint64_t flags = read(cpu, Register::rflags);
  return (cr0 & kEt) != 0 && (flags & 2) != 0 && flags >> 32 == 0 &&
         ((cr0 & kPagingOn) == 0 || (cr0 & kProtected) != 0);
}

guest::Paging Machine::paging(void* cpu) const {
  return {.cr3 = read(cpu, Register::cr3),
          .five_levels = (read(cpu, Register::cr4) & kFiveLevels) != 0};
}

bool Machine::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const std::size_t size = std::min<std::uint64_t>(out.size(), kPage - address % kPage);
    if (is_device_(address)) return false;
    copy_(address, out.data(), size, false);
    out = out.subspan(size);
    address += size;
  }
  return true;
}

ExecutionMode execution_mode(const Machine& machine, void* cpu) {
  const std::uint64_t flags = machine.read(cpu, Register::rflags);
  const bool has_rings = (machine.read(cpu, Register::cr0) & kProtected) != 0;
  if (!has_rings) return {.real = true, .user = false, .width = {}};
  if ((flags & kVirtual8086) != 0) return {};
  const std::uint64_t cs = machine.read(cpu, Register::cs);
  ExecutionMode mode{.real = false, .user = (cs & 3) == 3, .width = {}};
  if ((machine.read(cpu, Register::efer) & kLongMode) == 0) return mode;
  if (cs == kUserCs || cs == kKernelCs) mode.width = isa::Mode::bits64;
  if (cs == kUser32Cs) mode.width = isa::Mode::bits32;
  return mode;
}

}  // namespace hodo::plugin
