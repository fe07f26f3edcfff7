#include "introspection.h"

#include <array>
#include <charconv>
#include <memory>

#include "hodo/guest/running.h"

namespace hodo::plugin {
namespace {

constexpr std::uint64_t kTable = 0x000f'ffff'ffff'f000;  // address bits of CR3
// PTI_USER_PGTABLE_BIT (arch/x86/include/asm/pgtable.h): set in CR3 while user code runs.
constexpr std::uint64_t kUserHalf = 1 << 12;
// A kernel without symbols or BTF stays one; one that is just being loaded does not.
constexpr unsigned kMostAttempts = 8;

template <class T>
std::optional<T> read_physical(const Machine& machine, std::uint64_t address) {
  T value{};
  const std::span bytes(reinterpret_cast<std::uint8_t*>(&value), sizeof(value));
  return machine.read(address, bytes) ? std::optional<T>(value) : std::nullopt;
}

std::string hex(std::uint64_t value) {
  char text[16];
  return {text, std::to_chars(std::begin(text), std::end(text), value, 16).ptr};
}

}  // namespace

std::uint64_t Introspection::key(std::uint64_t cr3) const {
  return guest::table_of(cr3, isolated_);
}

guest::VirtualMemory Introspection::kernel_memory(std::uint64_t cr3) const {
  return {machine_, {.cr3 = key(cr3), .five_levels = five_levels_}};
}

std::string Introspection::description() const {
  const std::lock_guard lock(mutex_);
  return description_;
}

bool Introspection::find_kernel(void* cpu, std::uint64_t cr3, std::uint64_t text) {
  const std::lock_guard lock(mutex_);
  if (kernel() != nullptr) return true;
  // Each attempt may read much memory, and user mode is entered thousands of times a second.
  if (attempts_ == kMostAttempts || entries_++ < next_attempt_) return false;
  next_attempt_ = entries_ + (std::uint64_t{16} << 2 * attempts_++);
  tried_.store(true, std::memory_order_relaxed);
  const guest::Paging now = machine_.paging(cpu);
  guest::Paging paging = now;
  paging.cr3 = cr3 & kTable & ~kUserHalf;
  auto found = guest::find_kernel({machine_, paging}, text);
  // Without isolation the bit is an address bit like the others.
  const bool halves = found && (cr3 & kUserHalf) != 0 &&
                      !guest::VirtualMemory(machine_, now).mapped(found->init_task);
  if (!halves) found = guest::find_kernel({machine_, now}, text);
  if (!found) {
    description_ = found.error().message;
    return false;
  }
  isolated_ = halves;
  five_levels_ = now.five_levels;
  auto known = std::make_unique<KnownKernel>();
  known->kernel = std::move(*found);
  known->functions = {known->kernel.symbols, known->kernel.base + known->kernel.size};
  auto entries = guest::read_entries(kernel_memory(cr3), known->kernel);
  description_ = known->kernel.banner;
  if (entries) {
    known->entries = std::move(*entries);
  } else {
    description_ += " (" + entries.error().message + ")";
  }
  // Never freed: other processors may be reading it, and a guest has few kernels in its life.
  kernel_.store(known.release(), std::memory_order_release);
  return true;
}

bool Introspection::unchanged(std::uint64_t cr3, const RunningTask& running) const {
  if (key(running.cr3) != key(cr3) || running.pids_at == 0) return false;
  const auto pointer = read_physical<std::uint64_t>(machine_, running.pointer_at);
  const auto pid = read_physical<std::int32_t>(machine_, running.pids_at);
  return pointer == running.task.address && pid == running.task.pid;
}

bool Introspection::update(void* cpu, std::uint64_t cr3, std::uint64_t text, RunningTask& running) {
  if (kernel() != nullptr && unchanged(cr3, running)) return false;
  if (kernel() == nullptr && !find_kernel(cpu, cr3, text)) {
    if (running.cr3 == cr3) return false;
    running = {.cr3 = cr3};
    running.task.cr3 = key(cr3);
    running.task.pid = running.task.tgid = static_cast<std::int32_t>(key(cr3) >> 12);
    running.task.comm = "cr3-" + hex(key(cr3));
    return true;
  }
  const auto at = current_task_at(cpu, cr3, Register::kernel_gs_base);
  const auto task = at ? read_physical<std::uint64_t>(machine_, *at) : std::nullopt;
  // If it cannot be read the kernel is another one since: the guest was started again.
  if (!task || !read(cr3, *at, *task, running)) lose_kernel(cr3, running);
  return true;
}

void Introspection::switch_to(void* cpu, std::uint64_t task, RunningTask& running) {
  const std::uint64_t cr3 = machine_.read(cpu, Register::cr3);
  const auto at = current_task_at(cpu, cr3, Register::gs_base);
  if (!at || !read(cr3, *at, task, running)) return lose_kernel(cr3, running);
  running.pids_at = 0;  // it may be in the midst of an exec: update() has to look again
}

std::optional<guest::Task> Introspection::ended(void* cpu, std::uint64_t task) const {
  constexpr std::uint32_t kTaskDead =
      0x80;  // TASK_DEAD (include/linux/sched.h), set by do_task_dead
  const KnownKernel* known = kernel();
  if (known == nullptr) return std::nullopt;
  const guest::VirtualMemory memory = kernel_memory(machine_.read(cpu, Register::cr3));
  const auto state = memory.read<std::uint32_t>(task + known->kernel.layout.task.state);
  if (!state || (*state & kTaskDead) == 0) return std::nullopt;
  return task_at(cpu, task);
}

// Where the kernel notes which task the processor runs. Its per-CPU area is where GS points in the
// kernel, and the other of the two bases in user mode (SWAPGS).
std::optional<std::uint64_t> Introspection::current_task_at(void* cpu, std::uint64_t cr3,
                                                            Register gs_base) const {
  const std::uint64_t base = machine_.read(cpu, gs_base);
  return kernel_memory(cr3).physical_address(base + kernel()->kernel.current_task);
}

bool Introspection::read(std::uint64_t cr3, std::uint64_t pointer_at, std::uint64_t task,
                         RunningTask& running) const {
  const guest::Kernel& kernel = this->kernel()->kernel;
  const guest::VirtualMemory memory = kernel_memory(cr3);
  auto found = guest::read_task(memory, kernel, task);
  if (!found) return false;
  running.pointer_at = pointer_at;
  running.pids_at = memory.physical_address(task + kernel.layout.task.pid).value_or(0);
  running.task = std::move(*found);
  running.cr3 = cr3;
  return true;
}

std::optional<guest::Task> Introspection::task_at(void* cpu, std::uint64_t task) const {
  const KnownKernel* known = kernel();
  if (known == nullptr) return std::nullopt;
  return guest::read_task(kernel_memory(machine_.read(cpu, Register::cr3)), known->kernel, task);
}

std::optional<guest::Task> Introspection::current(void* cpu) const {
  if (kernel() == nullptr) return std::nullopt;
  const auto at = current_task_at(cpu, machine_.read(cpu, Register::cr3), Register::gs_base);
  const auto task = at ? read_physical<std::uint64_t>(machine_, *at) : std::nullopt;
  return task ? task_at(cpu, *task) : std::nullopt;
}

void Introspection::lose_kernel(std::uint64_t cr3, RunningTask& running) {
  running = {.cr3 = cr3};
  running.task.cr3 = key(cr3);
  running.task.comm = "?";
  forget_kernel();
}

void Introspection::forget_kernel() {
  const std::lock_guard lock(mutex_);
  kernel_.store(nullptr, std::memory_order_release);
  tried_.store(false, std::memory_order_relaxed);
  attempts_ = 0;
  next_attempt_ = entries_;
}

std::vector<guest::GuestMapping> Introspection::mappings(const RunningTask& running) const {
  const KnownKernel* known = kernel();
  if (known == nullptr || running.task.mm == 0) return {};
  return guest::read_mappings(kernel_memory(running.cr3), known->kernel, running.task.mm);
}

}  // namespace hodo::plugin
