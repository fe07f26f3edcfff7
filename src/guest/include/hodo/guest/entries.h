// Where a processor enters a Linux kernel, and where the kernel changes from one task to another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct KernelEntries {
  // A gate of the interrupt descriptor table (SDM vol. 3, "64-Bit Mode IDT").
  struct Gate {
    std::uint64_t address = 0;
    unsigned vector = 0;
  };
  std::vector<Gate> gates;                  // by address
  std::vector<std::uint64_t> system_calls;  // of SYSCALL and SYSENTER
  // __switch_to_asm (arch/x86/entry/entry_64.S): called to go on with the task in RSI.
  std::uint64_t switch_to = 0;
  // __set_task_comm (fs/exec.c): the task in RDI gets the name that RSI points to: with DL = 1 in
  // the midst of an exec, which has given it its new address space by then, else by prctl. 0: not
  // known.
  std::uint64_t rename = 0;

  // The vector whose handler begins at `address`; nullopt: none does.
  std::optional<unsigned> vector(std::uint64_t address) const;
  bool contains(std::uint64_t address) const;
};

// Does the event push the address of the instruction that raised it, instead of the one behind it?
// (SDM vol. 3, "Protected-Mode Exceptions and Interrupts": faults.)
constexpr bool is_fault(unsigned vector) {
  constexpr std::uint32_t kTrapsAndInterrupts = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 18;
  return vector < 32 && (kTrapsAndInterrupts >> vector & 1) == 0;
}

// Reads the kernel's interrupt descriptor table (idt_table). `memory` must be a kernel's address
// space. Errors: unsupported (the symbols are missing, or system calls enter through a trampoline
// elsewhere, as with page-table isolation before Linux 4.20), not_found (no table there).
Result<KernelEntries> read_entries(const VirtualMemory& memory, const Kernel& kernel);

}  // namespace hodo::guest
