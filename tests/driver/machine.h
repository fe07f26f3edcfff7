// One logical processor made of the trace unit, with memory and an interrupt handler.
#pragma once

#include <functional>
#include <string>

#include "ds_memory.h"
#include "hodo/unit/processor.h"
#include "processors.h"

namespace hodo::driver {

class Machine {
 public:
  // `name` is a file of tests/hw/processors.
  explicit Machine(const std::string& name, std::uint64_t perf_capabilities = 0,
                   std::uint64_t misc_enable = 0)
      : cpuid(hw::processor(name)),
        cpu({&cpuid, misc_enable, perf_capabilities}, memory,
            {[](void* self) { static_cast<Machine*>(self)->interrupted(); }, this}) {}

  // User code's branches n -> n + 0x1000.
  void run(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n <= last; ++n) {
      cpu.branch({.from = n, .to = n + 0x1000, .cls = hw::BranchClass::rel_jmp});
    }
  }
  std::uint64_t read(std::uint32_t number) {
    const auto value = cpu.read_msr(number);
    return value ? *value : ~0ull;
  }

  hw::CpuidDump cpuid;
  unit::FakeMemory memory;
  unit::Processor cpu;
  std::function<void()> handler;
  unsigned interrupts = 0;

 private:
  void interrupted() {
    ++interrupts;
    if (handler) handler();
  }
};

}  // namespace hodo::driver
