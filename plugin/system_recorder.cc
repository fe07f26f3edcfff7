// The recording plugin for virtual machines: QEMU's callbacks on one side, a trace unit for each
// virtual processor on the other.
//
// Every translated block that can be recorded is described once and reports its execution. Which
// ring a block is for is known when it is translated, so user blocks and kernel blocks have
// callbacks of their own. On the way into user mode the guest's kernel is asked who runs; blocks of
// processes that are not recorded cost a comparison. What leads out of user mode are the kernel's
// entries, so that of a kernel that is known and not traced only those report. To trace the kernel
// its task switches are followed, too.
#include <algorithm>
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
#include "interrupt_frame.h"
#include "introspection.h"
#include "kernel_code.h"
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

// Which blocks report their execution. QEMU translates anew when it changes.
enum class Coverage : std::uint8_t {
  programs,  // no program has run yet: those of programs
  all,       // the kernel is not known: all
  starts,  // nobody who is to be recorded has run yet: where tasks are switched and programs start
  crossings,  // those of programs, the kernel's entries, and all of the kernel where it is traced
};

struct Recorder {
  qemu_plugin_id_t id = 0;
  std::string socket;
  Machine machine;
  Introspection introspection{machine};
  Spaces spaces{machine, introspection};
  KernelCode kernel_code{introspection};
  CodeBlocks blocks;
  std::array<std::unique_ptr<Vcpu>, kMostProcessors> vcpus;
  std::atomic<std::uint64_t> kernel_text = 0;  // an address where kernel code was translated
  std::atomic<Coverage> coverage = Coverage::programs;
  std::atomic<bool> met = false;  // somebody who is to be recorded
  std::atomic<bool> traces_kernel = false;
  std::atomic<bool> checked = false;

  // Null: where the guest's kernel is entered is not known.
  const guest::KernelEntries* entries() const {
    const KnownKernel* kernel = introspection.kernel();
    return kernel != nullptr && kernel->entries ? &*kernel->entries : nullptr;
  }
};

Recorder* recorder = nullptr;
// The same processors as recorder->vcpus, nearer: asked for every block.
std::array<Vcpu*, kMostProcessors> running{};

void register_callbacks(qemu_plugin_id_t id);

// Has more or less become known of the guest's kernel?
void adapt_coverage() {
  Coverage wanted = recorder->introspection.tried() ? Coverage::all : Coverage::programs;
  if (const guest::KernelEntries* entries = recorder->entries(); entries != nullptr) {
    const bool waits = !recorder->met && !entries->exec.empty();
    wanted = waits ? Coverage::starts : Coverage::crossings;
  }
  if (recorder->coverage.exchange(wanted) == wanted) return;
  qemu_plugin_reset(recorder->id, register_callbacks);
}

// The kernel's part of what `vcpu` executes begins to be recorded, or is not, as for its task.
void choose_kernel(Vcpu& vcpu) {
  const bool recorded = vcpu.traces_kernel() && vcpu.space != 0 && recorder->entries() != nullptr;
  if (!recorded) {
    vcpu.kernel_epoch = 0;
  } else if (vcpu.kernel_epoch == 0) {
    vcpu.kernel_epoch = recorder->kernel_code.epoch();
  }
}

// --- transitions ---

[[gnu::noinline]] void enter_user(Vcpu& vcpu) {
  const std::uint64_t cr3 = recorder->machine.read(vcpu.cpu(), Register::cr3);
  if (recorder->introspection.update(vcpu.cpu(), cr3, recorder->kernel_text, vcpu.running)) {
    recorder->spaces.enter(vcpu);
    if (vcpu.space != 0) recorder->met = true;
    adapt_coverage();
  }
  choose_kernel(vcpu);
  const bool recorded = vcpu.space != 0 && vcpu.traces_user();
  vcpu.where = recorded ? Vcpu::Where::user : Vcpu::Where::ignored;
  if (!recorded) vcpu.unit().leave_context();  // if its kernel part was recorded
}

// What took control at `handler`, a block that a gate leads to, or may lead to.
std::optional<InterruptFrame> event_at(const Vcpu& vcpu, const Block& handler) {
  if ((handler.flags & Block::kHandler) == 0) return std::nullopt;
  return interrupt_frame(recorder->machine, vcpu.cpu());
}

// Did the instruction that the frame points to raise the event? Without a known gate: after an
// interrupt the last block was executed to its end, also where it leads to itself.
bool faulted(const InterruptFrame& frame, const Block& handler, const Block* last) {
  const guest::KernelEntries* entries = recorder->entries();
  const auto vector = entries != nullptr ? entries->vector(handler.start) : std::nullopt;
  if (vector) return guest::is_fault(*vector);
  const bool follows = last != nullptr && (frame.ip == last->taken || frame.ip == last->other);
  return frame.has_error_code || !follows;
}

void leave_recorded_user(Vcpu& vcpu, const Block& entered) {
  PtUnit& unit = vcpu.unit();
  const Block* last = unit.current();
  if (last == nullptr) return;
  const auto frame = event_at(vcpu, entered);
  const bool by_event = frame && frame->from_user;
  const bool by_call =
      last->cls == isa::InsnClass::syscall && !(by_event && last->contains(frame->ip));
  if (by_call || !by_event) return unit.leave_context();
  unit.interrupt(frame->ip, faulted(*frame, entered, last));
}

[[gnu::noinline]] void leave_user(Vcpu& vcpu, const Block& entered) {
  const bool goes_on = vcpu.kernel_epoch != 0;
  if (vcpu.where == Vcpu::Where::user && !goes_on) leave_recorded_user(vcpu, entered);
  vcpu.where = Vcpu::Where::kernel;
}

// For units that trace the kernel: see unit::PtOutput.
bool interrupted(void* self, const Block& handler, std::uint64_t& ip, bool& by_fault) {
  const auto frame = event_at(*static_cast<const Vcpu*>(self), handler);
  if (!frame) return false;
  ip = frame->ip;
  by_fault = faulted(*frame, handler, nullptr);
  return true;
}

std::uint64_t cr3_of(void* self) {
  return recorder->machine.read(static_cast<const Vcpu*>(self)->cpu(), Register::cr3);
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

// User code of another width than 32 or 64 bits, or of a system that is not one of 64 bits.
void on_odd_user_block(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr || vcpu->where == Vcpu::Where::ignored) return;
  if (vcpu->where == Vcpu::Where::kernel) enter_user(*vcpu);
  if (vcpu->where != Vcpu::Where::user) return;
  vcpu->unit().leave_context();
  vcpu->where = Vcpu::Where::ignored;
  using namespace std::string_literals;
  const std::string why = vcpu->running.task.comm + "\0it is no program of 64 or 32 bits"s;
  vcpu->send(relay::RecordType::native, {}, bytes_of(why));
}

// Of a kernel that is traced.
template <void (PtUnit::*Enter)(const Block*)>
void on_kernel_block(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr || vcpu->kernel_epoch == 0) return;
  auto* code = static_cast<CodeBlock*>(data);
  if (code->space != vcpu->kernel_epoch) [[unlikely]] {
    recorder->kernel_code.report(*vcpu, *code);
  }
  (vcpu->unit().*Enter)(&code->block);
}

template <void (PtUnit::*Enter)(const Block*)>
void on_kernel_entry(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  if (vcpu->where != Vcpu::Where::kernel) {
    leave_user(*vcpu, static_cast<const CodeBlock*>(data)->block);
  }
  on_kernel_block<Enter>(index, data);
}

// __switch_to_asm: RDI is the task that goes.
void on_task_leaves(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  const std::uint64_t left = recorder->machine.read(vcpu->cpu(), Register::rdi);
  const auto ended = recorder->introspection.ended(vcpu->cpu(), left);
  if (ended) recorder->spaces.exit(*vcpu, *ended);
}

// RSI is the task that comes. The decoder's clock must not fall behind the moment from which
// branches are its own, so tracing always begins anew here.
template <void (PtUnit::*Enter)(const Block*)>
void on_task_switch(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  on_task_leaves(index, data);
  vcpu->unit().interrupt(static_cast<const CodeBlock*>(data)->block.start, false);
  const std::uint64_t next = recorder->machine.read(vcpu->cpu(), Register::rsi);
  recorder->introspection.switch_to(vcpu->cpu(), next, vcpu->running);
  recorder->spaces.enter(*vcpu);
  choose_kernel(*vcpu);
  on_kernel_block<Enter>(index, data);
}

// While nobody who is to be recorded has run: does this task come to be recorded?
void meet(const std::optional<guest::Task>& task) {
  if (!task || !recorder->spaces.wants(*task)) return;
  recorder->met = true;
  adapt_coverage();
}

void on_first_switch(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  const std::uint64_t next = recorder->machine.read(vcpu->cpu(), Register::rsi);
  meet(recorder->introspection.task_at(vcpu->cpu(), next));
}

void on_first_exec(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu != nullptr) meet(recorder->introspection.current(vcpu->cpu()));
}

// Of a kernel that is not known: any may be where it was entered.
void on_any_kernel_block(unsigned index, void*) {
  static constexpr Block kAnyHandler{.flags = Block::kHandler};
  Vcpu* vcpu = running[index];
  if (vcpu != nullptr && vcpu->where != Vcpu::Where::kernel) [[unlikely]] {
    leave_user(*vcpu, kAnyHandler);
  }
}

// The processor was reset. What it did last may not have been done to its end.
void on_real_mode_block(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  const Block* last = vcpu->unit().current();
  if (last != nullptr) vcpu->unit().interrupt(last->start, true);
  vcpu->where = Vcpu::Where::kernel;
  vcpu->space = vcpu->kernel_epoch = 0;
  if (recorder->introspection.kernel() == nullptr) return;
  recorder->introspection.forget_kernel();
  adapt_coverage();
}

// --- translation ---

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
  return recorder->blocks.add(describe(qemu_plugin_tb_vaddr(tb), code, insns.size(),
                                       qemu_plugin_insn_size(insns.back()), mode));
}

// One of two callbacks for a described block: see PtUnit::enter_stepped.
void report_execution(qemu_plugin_tb* tb, CodeBlock* code, qemu_plugin_vcpu_udata_cb_t enter,
                      qemu_plugin_vcpu_udata_cb_t enter_stepped) {
  const bool stepped = code->block.insns == 1 && code->block.cls == isa::InsnClass::other;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, stepped ? enter_stepped : enter,
                                       recorder->machine.registers().callback_flags(), code);
}

void translate_user(qemu_plugin_tb* tb, isa::Mode mode) {
  report_execution(tb, describe_block(tb, mode), on_user_block<&PtUnit::enter<false>>,
                   on_user_block<&PtUnit::enter_stepped>);
}

void translate_starts(qemu_plugin_tb* tb, const guest::KernelEntries& entries) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  const bool exec = std::ranges::find(entries.exec, start) != entries.exec.end();
  if (!exec && start != entries.switch_to) return;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, exec ? on_first_exec : on_first_switch,
                                       recorder->machine.registers().callback_flags(), nullptr);
}

void translate_known_kernel(qemu_plugin_tb* tb, const guest::KernelEntries& entries) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  const bool traced = recorder->traces_kernel && start >= kKernelHalf;
  const auto vector = entries.vector(start);
  const bool entry = entries.contains(start);
  if (!traced && start == entries.switch_to) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_task_leaves,
                                         recorder->machine.registers().callback_flags(), nullptr);
  }
  if (!traced && !entry) return;
  CodeBlock* code = describe_block(tb, isa::Mode::bits64);
  if (vector) code->block.flags |= Block::kHandler;
  constexpr auto kEnter = &PtUnit::enter<false>;
  constexpr auto kStepped = &PtUnit::enter_stepped;
  if (entry) {
    report_execution(tb, code, on_kernel_entry<kEnter>, on_kernel_entry<kStepped>);
  } else if (start == entries.switch_to) {
    report_execution(tb, code, on_task_switch<kEnter>, on_task_switch<kStepped>);
  } else {
    report_execution(tb, code, on_kernel_block<kEnter>, on_kernel_block<kStepped>);
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
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_any_kernel_block,
                                       recorder->machine.registers().callback_flags(), nullptr);
}

// By its address alone, which is much cheaper than registers: the upper half is the kernel's but
// for the page of the old system calls (VSYSCALL_ADDR).
bool is_kernel_address(std::uint64_t address) {
  constexpr std::uint64_t kVsyscall = 0xffff'ffff'ff60'0000, kPage = 4096;
  return address >= kKernelHalf && address - kVsyscall >= kPage;
}

void translate(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  if (is_kernel_address(start)) return translate_kernel(tb, isa::Mode::bits64);
  // Real mode, which tells of a reset, has only low addresses.
  if (recorder->coverage == Coverage::starts && start >> 32 != 0) return;
  void* cpu = recorder->machine.current_cpu();
  if (cpu == nullptr) return;
  check_registers(cpu);
  const ExecutionMode mode = execution_mode(recorder->machine, cpu);
  if (mode.real) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_real_mode_block,
                                         recorder->machine.registers().callback_flags(), nullptr);
    return;
  }
  if (!mode.user) return translate_kernel(tb, mode.width);
  if (recorder->coverage == Coverage::starts) return;
  if (mode.width) return translate_user(tb, *mode.width);
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_odd_user_block,
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
  recorder->vcpus[index] = Vcpu::start(recorder->socket, index, recorder->machine.cpu(index),
                                       {.interrupted = interrupted, .cr3 = cr3_of});
  running[index] = recorder->vcpus[index].get();
  if (running[index] != nullptr) recorder->traces_kernel = running[index]->traces_kernel();
}

void on_exit(qemu_plugin_id_t, void*) {
  std::string about = recorder->introspection.description();
  if (recorder->traces_kernel && recorder->entries() == nullptr) {
    about += "; nothing of its kernel was recorded, since where it is entered is not known";
  }
  for (const auto& vcpu : recorder->vcpus) {
    if (!vcpu) continue;
    if (vcpu->index() == 0) vcpu->send(relay::RecordType::guest_note, {}, bytes_of(about));
    vcpu->close();
  }
}

void register_callbacks(qemu_plugin_id_t id) {
  qemu_plugin_register_vcpu_init_cb(id, on_start);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
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
  recorder->id = id;
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
  register_callbacks(id);
  return 0;
}

}  // namespace
}  // namespace hodo::plugin

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  return hodo::plugin::install(id, info, argc, argv);
}
