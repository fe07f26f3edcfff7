// The virtual machine as seen from inside its emulator: registers of its processors and its
// physical memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hodo/guest/memory.h"
#include "hodo/isa/insn.h"
#include "registers.h"

namespace hodo::plugin {

// A processor's registers, numbered as gdb's order has them (target/i386/gdbstub.c).
enum class Register : int {
  rdx = 3,
  rsi = 4,
  rdi = 5,
  rsp = 7,
  rip = 16,
  rflags = 17,
  cs = 18,
  gs_base = 25,
  kernel_gs_base = 26,
  cr0 = 27,
  cr3 = 29,
  cr4 = 30,
  efer = 32,
};

class Machine final : public guest::PhysicalMemory {
 public:
  // Finds the registers, and memory by functions that qemu-system-x86_64 exports: no version of the
  // plugin interface reads physical memory and leaves devices alone. False if they are not there.
  bool attach();
  const Registers& registers() const { return registers_; }
  // Do the registers of this processor answer as those of an x86-64 one would? To be asked while it
  // translates its first block.
  bool sane(void* cpu) const;

  // The processor that the calling thread executes; null if it executes none.
  void* current_cpu() const { return registers_.current_cpu(); }
  // Valid at the start of a block; null if there is none.
  void* cpu(unsigned index) const { return registers_.cpu(index); }
  std::uint64_t read(void* cpu, Register number) const {
    return registers_.read(cpu, static_cast<int>(number));
  }
  guest::Paging paging(void* cpu) const;

  // Guest RAM and ROM; what is a device's is not read.
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override;

 private:
  Registers registers_;
  void (*copy_)(std::uint64_t, void*, std::uint64_t, bool) = nullptr;
  bool (*is_device_)(std::uint64_t) = nullptr;
};

// Where a processor executes.
struct ExecutionMode {
  bool real = false;  // as after a reset
  bool user = false;
  // Nullopt: code that no trace unit is for (real mode, a boot loader's 32-bit code).
  std::optional<isa::Mode> width;
};

// By the registers of a processor that translates a block. Linux's code segments say which width
// they have (arch/x86/include/asm/segment.h); descriptors themselves cannot be asked for.
ExecutionMode execution_mode(const Machine& machine, void* cpu);

}  // namespace hodo::plugin
