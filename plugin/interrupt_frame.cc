#include "interrupt_frame.h"

#include <array>

#include "hodo/guest/memory.h"
#include "kernel_layout.h"

namespace hodo::plugin {

// SDM vol. 3, "64-Bit Mode Stack Frame": the processor aligns the stack to 16 bytes, pushes SS,
// RSP, RFLAGS, CS and RIP, and with some exceptions an error code.
std::optional<InterruptFrame> interrupt_frame(const Machine& machine, void* cpu) {
  const std::uint64_t rsp = machine.read(cpu, Register::rsp);
  if (rsp < kKernelHalf) return std::nullopt;  // SYSCALL leaves the stack alone
  InterruptFrame frame{.has_error_code = rsp % 16 == 0};
  const guest::VirtualMemory memory(machine, machine.paging(cpu));
  const auto words =
      memory.read<std::array<std::uint64_t, 2>>(rsp + (frame.has_error_code ? 8 : 0));
  if (!words) return std::nullopt;
  const auto [ip, cs] = *words;
  frame.ip = ip;
  frame.from_user = (cs & 3) == 3;
  if (!frame.from_user && cs != kKernelCs) return std::nullopt;
  return frame;
}

}  // namespace hodo::plugin
