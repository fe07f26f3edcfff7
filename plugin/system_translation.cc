#include "system_translation.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "describe.h"
#include "hodo/base/page.h"
#include "hodo/isa/insn.h"
#include "kernel_layout.h"
#include "system_execution.h"
#include "system_recorder.h"

namespace hodo::plugin {
namespace {

using unit::Block;

void check_registers(void* cpu) {
  if (recorder->checked.exchange(true) || recorder->machine.sane(cpu)) return;
  std::fprintf(stderr,
               "hodo: this QEMU's registers are not where Debian 12's QEMU 7.2 has them; "
               "recording needs that version of qemu-system-x86, or QEMU 9.0 or later\n");
  std::_Exit(125);
}

CodeBlock* describe_block(qemu_plugin_tb* tb, isa::Mode mode) {
  const auto insns = insns_of(tb, mode);
  const auto code = code_of(insns);
  const std::size_t last = qemu_plugin_insn_size(insns.back());
  return recorder->blocks.add(describe(qemu_plugin_tb_vaddr(tb), code, insns.size(), last, mode),
                              code);
}

void report_execution(qemu_plugin_tb* tb, qemu_plugin_vcpu_udata_cb_t callback,
                      CodeBlock* code = nullptr) {
  qemu_plugin_register_vcpu_tb_exec_cb(tb, callback, recorder->machine.registers().callback_flags(),
                                       code);
}

void report_execution(qemu_plugin_tb* tb, const BlockCallbacks& callbacks, CodeBlock* code) {
  const bool stepped = code->block.insns == 1 && code->block.cls == isa::InsnClass::other;
  report_execution(tb, stepped ? callbacks.enter_stepped : callbacks.enter, code);
}

void translate_user(qemu_plugin_tb* tb, isa::Mode mode) {
  report_execution(tb, kUserBlock, describe_block(tb, mode));
}

void translate_starts(qemu_plugin_tb* tb, const guest::KernelEntries& entries) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  if (start == entries.switch_to) report_execution(tb, on_first_switch);
  if (start == entries.rename) report_execution(tb, on_first_rename);
}

void translate_known_kernel(qemu_plugin_tb* tb, const guest::KernelEntries& entries) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  const bool traced = recorder->traces_kernel && start >= kKernelHalf;
  const auto vector = entries.vector(start);
  const bool entry = entries.contains(start);
  if (!traced && start == entries.switch_to) report_execution(tb, on_task_leaves);
  if (start == entries.rename) report_execution(tb, on_rename);
  if (!traced && !entry) return;
  CodeBlock* code = describe_block(tb, isa::Mode::bits64);
  if (vector) code->block.flags |= Block::kHandler;
  if (entry) {
    report_execution(tb, kKernelEntry, code);
  } else if (start == entries.switch_to) {
    report_execution(tb, kTaskSwitch, code);
  } else {
    report_execution(tb, kKernelBlock, code);
  }
}

void translate_kernel(qemu_plugin_tb* tb, const std::optional<isa::Mode>& width) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  if (width && start >= kKernelHalf) recorder->kernel_text = start;
  const Coverage coverage = recorder->coverage;
  const guest::KernelEntries* entries = recorder->entries();
  if (coverage == Coverage::programs) return;
  if (coverage != Coverage::all && entries != nullptr) {
    if (width != isa::Mode::bits64) return;
    return coverage == Coverage::starts ? translate_starts(tb, *entries)
                                        : translate_known_kernel(tb, *entries);
  }
  report_execution(tb, on_any_kernel_block);
}

// By its address alone, which is much cheaper than registers: the upper half is the kernel's but
// for the page of the old system calls (VSYSCALL_ADDR).
bool is_kernel_address(std::uint64_t address) {
  constexpr std::uint64_t kVsyscall = 0xffff'ffff'ff60'0000;
  return address >= kKernelHalf && address - kVsyscall >= kPage;
}

}  // namespace

void translate(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  if (is_kernel_address(start)) return translate_kernel(tb, isa::Mode::bits64);
  // Real mode, which tells of a reset, has only low addresses.
  if (recorder->coverage == Coverage::starts && start >> 32 != 0) return;
  void* cpu = recorder->machine.current_cpu();
  if (cpu == nullptr) return;
  check_registers(cpu);
  const ExecutionMode mode = execution_mode(recorder->machine, cpu);
  if (mode.real) return report_execution(tb, on_real_mode_block);
  if (!mode.user) return translate_kernel(tb, mode.width);
  if (recorder->coverage == Coverage::starts) return;
  if (mode.width) return translate_user(tb, *mode.width);
  report_execution(tb, on_odd_user_block);
}

}  // namespace hodo::plugin
