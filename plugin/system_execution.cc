#include "system_execution.h"

#include <string>

#include "system_crossings.h"
#include "system_recorder.h"

namespace hodo::plugin {

using unit::Block;
using unit::PtUnit;

namespace {

constexpr std::size_t kLongestName = 15;  // TASK_COMM_LEN without its NUL

// Everything but the usual case, so that that one needs no stack frame.
template <void (PtUnit::*Enter)(const Block*)>
[[gnu::noinline, gnu::cold]] void on_new_user_block(Vcpu& vcpu, CodeBlock& code) {
  if (vcpu.where == Vcpu::Where::kernel) enter_user(vcpu);
  if (vcpu.where != Vcpu::Where::user) return;
  if (code.space != vcpu.space) {
    code.space = recorder->spaces.report_code(vcpu, code);
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

// From here on the kernel runs for the task at `address`, whose name may be about to become
// another.
void run_for(Vcpu& vcpu, std::uint64_t address, const std::string* name = nullptr) {
  recorder->introspection.switch_to(vcpu.cpu(), address, vcpu.running);
  if (name != nullptr) vcpu.running.task.comm = *name;
  recorder->spaces.enter(vcpu);
  choose_kernel(vcpu);
}

// RSI is the task that comes. The decoder's clock must not fall behind the moment from which
// branches are its own, so tracing always begins anew here.
template <void (PtUnit::*Enter)(const Block*)>
void on_task_switch(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  on_task_leaves(index, data);
  vcpu->unit().interrupt(static_cast<const CodeBlock*>(data)->block.start, false);
  run_for(*vcpu, recorder->machine.read(vcpu->cpu(), Register::rsi));
  on_kernel_block<Enter>(index, data);
}

// The one that runs on `vcpu`, as its name is going to be; nullopt: another one is renamed, which
// is seen when that one is switched to.
std::optional<guest::Task> task_renamed(const Vcpu& vcpu) {
  const Machine& machine = recorder->machine;
  auto task = recorder->introspection.current(vcpu.cpu());
  if (!task || task->address != machine.read(vcpu.cpu(), Register::rdi)) return std::nullopt;
  const auto memory =
      recorder->introspection.kernel_memory(machine.read(vcpu.cpu(), Register::cr3));
  auto name = memory.read_string(machine.read(vcpu.cpu(), Register::rsi), kLongestName);
  if (!name) return std::nullopt;
  task->comm = std::move(*name);
  return task;
}

// While nobody who is to be recorded has run: does this task come to be recorded?
bool meet(const std::optional<guest::Task>& task) {
  if (!task || !recorder->spaces.wants(*task)) return false;
  recorder->met = true;
  adapt_coverage();
  return true;
}

}  // namespace

constexpr auto kEnter = &PtUnit::enter<false>;
constexpr auto kStepped = &PtUnit::enter_stepped;
const BlockCallbacks kUserBlock{on_user_block<kEnter>, on_user_block<kStepped>};
const BlockCallbacks kKernelBlock{on_kernel_block<kEnter>, on_kernel_block<kStepped>};
const BlockCallbacks kKernelEntry{on_kernel_entry<kEnter>, on_kernel_entry<kStepped>};
const BlockCallbacks kTaskSwitch{on_task_switch<kEnter>, on_task_switch<kStepped>};

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

// __switch_to_asm: RDI is the task that goes.
void on_task_leaves(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  const std::uint64_t left = recorder->machine.read(vcpu->cpu(), Register::rdi);
  const auto ended = recorder->introspection.ended(vcpu->cpu(), left);
  if (ended) recorder->spaces.exit(*vcpu, *ended);
}

void on_first_switch(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr) return;
  const std::uint64_t next = recorder->machine.read(vcpu->cpu(), Register::rsi);
  if (!meet(recorder->introspection.task_at(vcpu->cpu(), next))) return;
  vcpu->where = Vcpu::Where::kernel;
  run_for(*vcpu, next);
}

// With its name a process may become one that is recorded, or by exec one that is not: from here
// on, not from when it next comes out of the kernel.
void on_rename(unsigned index, void*) {
  Vcpu* vcpu = running[index];
  const guest::KernelEntries* entries = recorder->entries();
  if (vcpu == nullptr || entries == nullptr) return;
  const auto renamed = task_renamed(*vcpu);
  if (!renamed) return;
  if (vcpu->kernel_epoch != 0) vcpu->unit().interrupt(entries->rename, false);
  const bool by_exec = (recorder->machine.read(vcpu->cpu(), Register::rdx) & 1) != 0;
  if (by_exec) recorder->spaces.exec(*renamed);
  run_for(*vcpu, renamed->address, &renamed->comm);
}

void on_first_rename(unsigned index, void* data) {
  Vcpu* vcpu = running[index];
  if (vcpu == nullptr || !meet(task_renamed(*vcpu))) return;
  vcpu->where = Vcpu::Where::kernel;  // since when is not known: only starts were watched
  on_rename(index, data);
}

void on_any_kernel_block(unsigned index, void*) {
  static constexpr Block kAnyHandler{.flags = Block::kHandler};
  Vcpu* vcpu = running[index];
  if (vcpu != nullptr && vcpu->where != Vcpu::Where::kernel) [[unlikely]] {
    leave_user(*vcpu, kAnyHandler);
  }
}

// What it did last may not have been done to its end.
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

}  // namespace hodo::plugin
