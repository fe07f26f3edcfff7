// The kernel that a machine runs, found from the registers of its processors alone.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/base/result.h"
#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

// A processor's registers at one moment.
struct ProcessorState {
  std::uint64_t cr0 = 0, cr3 = 0, cr4 = 0, efer = 0;
  std::uint64_t ip = 0;   // linear address
  std::uint64_t idt = 0;  // base of the interrupt descriptor table
  bool user = false;      // CPL 3
  bool halted = false;

  bool long_mode() const { return (efer & 1 << 10) != 0; }  // IA32_EFER.LMA
  Paging paging() const { return {.cr3 = cr3, .five_levels = (cr4 & 1 << 12) != 0}; }
};

// The physical address of the kernel's own top-level table for a value of CR3: without PCID, and
// the same for both halves of a process.
std::uint64_t table_of(std::uint64_t cr3, bool isolated);

struct RunningKernel {
  Kernel kernel;
  Paging paging;  // an address space in which all of the kernel is mapped
  // Page-table isolation: user mode runs on another top-level table, the page behind the kernel's,
  // so that CR3 bit 12 tells the halves apart. Without it that bit is an address bit.
  bool isolated = false;

  std::uint64_t table_of(std::uint64_t cr3) const { return guest::table_of(cr3, isolated); }
};

// The handler of page faults leads to the kernel's text, in whatever mode a processor is. Errors:
// not_found (no processor is in 64-bit mode with paging, or as find_kernel says), unsupported.
Result<RunningKernel> find_running_kernel(const PhysicalMemory& memory,
                                          std::span<const ProcessorState> processors);

}  // namespace hodo::guest
