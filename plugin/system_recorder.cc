// The recording plugin for virtual machines: QEMU's callbacks on one side, a trace unit for each
// virtual processor on the other.
//
// Every translated block is described once and reports its execution. Which ring a block is for is
// known when it is translated, so user blocks and kernel blocks have callbacks of their own, and
// the first one of the other ring is the transition. On the way into user mode the guest's kernel
// is asked who runs; blocks of processes that are not recorded cost a comparison. On the way out,
// the stack says what took control (SDM vol. 3, "64-Bit Mode Stack Frame").
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "api_version.h"
#include "code_blocks.h"
#include "describe.h"
#include "hodo/guest/watch.h"
#include "hodo/isa/insn.h"
#include "introspection.h"
#include "machine.h"
#include "qemu_api.h"
#include "spaces.h"
#include "vcpu.h"

int qemu_plugin_version = hodo::plugin::declared_api_version();

namespace hodo::plugin {
namespace {

using unit::Block;
using unit::PtUnit;

constexpr unsigned kMostProcessors = 16;
constexpr std::uint64_t kKernelHalf = 1ULL << 63;

struct Recorder {
  std::string socket;
  Machine machine;
  Introspection introspection{machine};
  Spaces spaces{machine, introspection};
  CodeBlocks blocks;
  std::array<std::unique_ptr<Vcpu>, kMostProcessors> vcpus;
  std::atomic<std::uint64_t> kernel_text = 0;  // an address where kernel code was translated
  std::atomic<bool> checked = false;
};

Recorder* recorder = nullptr;
// The same processors as recorder->vcpus, nearer: asked for every block.
std::array<Vcpu*, kMostProcessors> running{};

// --- transitions ---

[[gnu::noinline]] void enter_user(Vcpu& vcpu) {
  const std::uint64_t cr3 = recorder->machine.read(vcpu.cpu(), Register::cr3);
  if (recorder->introspection.update(vcpu.cpu(), cr3, recorder->kernel_text, vcpu.running)) {
    recorder->spaces.enter(vcpu);
  }
  vcpu.where = vcpu.space != 0 ? Vcpu::Where::user : Vcpu::Where::ignored;
}

struct InterruptFrame {
  std::uint64_t ip = 0;
  bool has_error_code = false;
};

// What an interrupt or exception has pushed, when the first block of its handler is about to run.
// The processor aligns the stack to 16 bytes, pushes SS, RSP, RFLAGS, CS and RIP, and with some
// exceptions an error code.
std::optional<InterruptFrame> interrupt_frame(const Vcpu& vcpu) {
  const std::uint64_t rsp = recorder->machine.read(vcpu.cpu(), Register::rsp);
  if (rsp < kKernelHalf) return std::nullopt;  // SYSCALL leaves the stack alone
  InterruptFrame frame{.has_error_code = rsp % 16 == 0};
  const guest::VirtualMemory memory(recorder->machine, recorder->machine.paging(vcpu.cpu()));
  const auto words =
      memory.read<std::array<std::uint64_t, 2>>(rsp + (frame.has_error_code ? 8 : 0));
  if (!words || ((*words)[1] & 3) != 3) return std::nullopt;
  frame.ip = (*words)[0];
  return frame;
}

void leave_recorded_user(Vcpu& vcpu) {
  PtUnit& unit = vcpu.unit();
  const Block* last = unit.current();
  if (last == nullptr) return;
  const auto frame = interrupt_frame(vcpu);
  const bool by_call =
      last->cls == isa::InsnClass::syscall && !(frame && last->contains(frame->ip));
  if (by_call || !frame) return unit.leave_context();
  // An instruction that raised an exception is where the frame points to. After an interrupt the
  // block was executed to its end, also where it leads to itself.
  const bool follows = frame->ip == last->taken || frame->ip == last->other;
  unit.interrupt(frame->ip, frame->has_error_code || !follows);
}

[[gnu::noinline]] void leave_user(Vcpu& vcpu) {
  if (vcpu.where == Vcpu::Where::user) leave_recorded_user(vcpu);
  vcpu.where = Vcpu::Where::kernel;
}

// --- execution ---

// Everything but the usual case, so that that one needs no stack frame.
template <void (PtUnit::*Enter)(const Block*)>
[[gnu::noinline, gnu::cold]] void on_new_user_block(Vcpu& vcpu, CodeBlock& code) {
  if (vcpu.where == Vcpu::Where::kernel) enter_user(vcpu);
  if (vcpu.where != Vcpu::Where::user) return;
  if (code.space != vcpu.space) {
    code.space = recorder->spaces.report_code(vcpu, code.block);
  }
  (vcpu.unit().*Enter)(&code.block);
}

template <void (PtUnit::*Enter)(const Block*)>
void on_user_block(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr || vcpu->where == Vcpu::Where::ignored) return;
  auto* code = static_cast<CodeBlock*>(data);
  if (code->space != vcpu->space || vcpu->where != Vcpu::Where::user) [[unlikely]] {
    return on_new_user_block<Enter>(*vcpu, *code);
  }
  (vcpu->unit().*Enter)(&code->block);
}

// 32-bit user code. What MODE.Exec says is fixed when a unit starts, so it is left out, and said.
void on_narrow_block(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr || vcpu->where == Vcpu::Where::ignored) return;
  if (vcpu->where == Vcpu::Where::kernel) enter_user(*vcpu);
  if (vcpu->where != Vcpu::Where::user) return;
  vcpu->unit().leave_context();
  vcpu->where = Vcpu::Where::ignored;
  using namespace std::string_literals;
  const std::string why = vcpu->running.task.comm + "\0it is a 32-bit program"s;
  vcpu->send(relay::RecordType::native, {}, bytes_of(why));
}

void on_kernel_block(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu != nullptr && vcpu->where != Vcpu::Where::kernel) [[unlikely]] {
    leave_user(*vcpu);
  }
}

// --- translation ---

void check_registers(void* cpu) {
  if (recorder->checked.exchange(true) || recorder->machine.sane(cpu)) return;
  std::fprintf(stderr,
               "hodo: this QEMU's registers are not where Debian 12's QEMU 7.2 has them; "
               "recording needs that version of qemu-system-x86, or QEMU 9.0 or later\n");
  std::_Exit(125);
}

void translate_user(qemu_plugin_tb* tb, isa::Mode mode) {
  const auto insns = insns_of(tb, mode);
  const auto code = code_of(insns);
  CodeBlock* block = recorder->blocks.add(describe(qemu_plugin_tb_vaddr(tb), code, insns.size(),
                                                   qemu_plugin_insn_size(insns.back()), mode));
  const bool stepped = block->block.insns == 1 && block->block.cls == isa::InsnClass::other;
  const auto callback =
      stepped ? on_user_block<&PtUnit::enter_stepped> : on_user_block<&PtUnit::enter<false>>;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, callback, recorder->machine.registers().callback_flags(),
                                       block);
}

void translate(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  void* cpu = recorder->machine.current_cpu();
  if (cpu == nullptr) return;
  check_registers(cpu);
  const ExecutionMode mode = execution_mode(recorder->machine, cpu);
  if (mode.user && mode.width == isa::Mode::bits64) return translate_user(tb, *mode.width);
  if (mode.user) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_narrow_block,
                                         recorder->machine.registers().callback_flags(), nullptr);
    return;
  }
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  if (mode.width && start >= kKernelHalf) recorder->kernel_text = start;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_kernel_block,
                                       recorder->machine.registers().callback_flags(), nullptr);
}

void on_flush(qemu_plugin_id_t) {
  recorder->spaces.forget_blocks();
  recorder->blocks.collect([](const void* first, const void* last) {
    for (const auto& vcpu : recorder->vcpus) {
      const void* in_use = vcpu ? vcpu->unit().current() : nullptr;
      if (in_use >= first && in_use < last) return true;
    }
    return false;
  });
}

// --- life ---

void on_start(qemu_plugin_id_t, unsigned index) {
  if (index >= kMostProcessors) return;
  recorder->vcpus[index] = Vcpu::start(recorder->socket, index, recorder->machine.cpu(index));
  running[index] = recorder->vcpus[index].get();
}

void on_exit(qemu_plugin_id_t, void*) {
  const std::string about = recorder->introspection.description();
  for (const auto& vcpu : recorder->vcpus) {
    if (!vcpu) continue;
    if (vcpu->index() == 0) vcpu->send(relay::RecordType::guest_note, {}, bytes_of(about));
    vcpu->close();
  }
}

int install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  if (!info->system_emulation || std::string_view(info->target_name) != "x86_64") {
    std::fprintf(stderr, "hodo: this plugin records machines under qemu-system-x86_64 only\n");
    return 1;
  }
  if (info->system.max_vcpus > static_cast<int>(kMostProcessors)) {
    std::fprintf(stderr, "hodo: machines of at most %u processors can be recorded; use -smp %u\n",
                 kMostProcessors, kMostProcessors);
    return 1;
  }
  recorder = new Recorder;
  for (int i = 0; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("socket=")) recorder->socket = option.substr(7);
    guest::parse_watch(option, recorder->spaces.watch);
  }
  set_emulator_version(*info);
  if (!recorder->machine.attach()) {
    std::fprintf(stderr,
                 "hodo: this QEMU does not give what recording needs: the registers by its plugin "
                 "interface (QEMU 9.0 and later) or by qemu_get_cpu and x86_cpu_gdb_read_register, "
                 "and cpu_physical_memory_rw and cpu_physical_memory_is_io; Debian 12's "
                 "qemu-system-x86 7.2 does\n");
    return 1;
  }
  qemu_plugin_register_vcpu_init_cb(id, on_start);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
  return 0;
}

}  // namespace
}  // namespace hodo::plugin

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  return hodo::plugin::install(id, info, argc, argv);
}
