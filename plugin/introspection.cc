#include "introspection.h"

#include <array>
#include <charconv>

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
  return cr3 & kTable & (isolated_ ? ~kUserHalf : ~std::uint64_t{0});
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
  if (knows_kernel()) return true;
  // Each attempt may read much memory, and user mode is entered thousands of times a second.
  if (attempts_ == kMostAttempts || entries_++ < next_attempt_) return false;
  next_attempt_ = entries_ + (std::uint64_t{16} << 2 * attempts_++);
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
  description_ = found->banner;
  kernel_.store(new guest::Kernel(std::move(*found)), std::memory_order_release);
  return true;
}

bool Introspection::unchanged(std::uint64_t cr3, const RunningTask& running) const {
  if (running.cr3 != cr3 || running.pids_at == 0) return false;
  const auto pointer = read_physical<std::uint64_t>(machine_, running.pointer_at);
  const auto pid = read_physical<std::int32_t>(machine_, running.pids_at);
  return pointer == running.task.address && pid == running.task.pid;
}

bool Introspection::update(void* cpu, std::uint64_t cr3, std::uint64_t text, RunningTask& running) {
  if (!knows_kernel() && !find_kernel(cpu, cr3, text)) {
    if (running.cr3 == cr3) return false;
    running = {.cr3 = cr3};
    running.task.cr3 = key(cr3);
    running.task.pid = running.task.tgid = static_cast<std::int32_t>(key(cr3) >> 12);
    running.task.comm = "cr3-" + hex(key(cr3));
    return true;
  }
  if (unchanged(cr3, running)) return false;
  const guest::Kernel& kernel = *kernel_.load(std::memory_order_acquire);
  const guest::VirtualMemory memory = kernel_memory(cr3);
  const std::uint64_t base = machine_.read(cpu, Register::kernel_gs_base);
  const auto pointer_at = memory.physical_address(base + kernel.current_task);
  const auto pointer =
      pointer_at ? read_physical<std::uint64_t>(machine_, *pointer_at) : std::nullopt;
  auto task = pointer ? guest::read_task(memory, kernel, *pointer) : std::nullopt;
  if (!task) {
    // The kernel is another one since: the guest was started again.
    running = {.cr3 = cr3};
    running.task.cr3 = key(cr3);
    running.task.comm = "?";
    kernel_.store(nullptr, std::memory_order_release);
    attempts_ = 0;
    return true;
  }
  running.pointer_at = *pointer_at;
  running.pids_at = memory.physical_address(*pointer + kernel.layout.task.pid).value_or(0);
  running.task = std::move(*task);
  running.cr3 = cr3;
  return true;
}

std::vector<guest::GuestMapping> Introspection::mappings(const RunningTask& running) const {
  const guest::Kernel* kernel = kernel_.load(std::memory_order_acquire);
  if (kernel == nullptr || running.task.mm == 0) return {};
  return guest::read_mappings(kernel_memory(running.cr3), *kernel, running.task.mm);
}

}  // namespace hodo::plugin
