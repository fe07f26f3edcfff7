#include "code_32.h"

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "program_memory.h"
#include "recording.h"

namespace hodo::engine {
namespace {

// INT 0x80, SYSENTER and SYSCALL.
bool is_system_call(const std::uint8_t (&code)[2]) {
  return (code[0] == 0xcd && code[1] == 0x80) ||
         (code[0] == 0x0f && (code[1] == 0x34 || code[1] == 0x05));
}

// fork, clone, vfork, clone3 (arch/x86/entry/syscalls/syscall_32.tbl).
bool makes_a_task(std::uint32_t number) {
  return number == 2 || number == 120 || number == 190 || number == 435;
}

void tell(ThreadArea& area) {
  static std::atomic<bool> told = false;
  if (told.load(std::memory_order_relaxed) || told.exchange(true)) return;
  send_native(area, "code of 32 bits", "a program of 64 bits led there by a far branch");
}

}  // namespace

void step_code_32(ThreadArea& area, KernelContext& context) {
  tell(area);
  std::uint8_t code[2];
  while (makes_a_task(static_cast<std::uint32_t>(context.rax)) &&
         read_program(code, context.rip, sizeof code) && is_system_call(code)) {
    context.rax = static_cast<std::uint32_t>(-ENOSYS);
    context.rip += sizeof code;
  }
}

}  // namespace hodo::engine
