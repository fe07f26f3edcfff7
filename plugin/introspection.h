// Who runs on a virtual processor, asked of the guest's own kernel without its help.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/mappings.h"
#include "hodo/guest/tasks.h"
#include "machine.h"

namespace hodo::plugin {

// Of one processor: what it takes to notice a task switch without reading a whole task again.
struct RunningTask {
  guest::Task task;
  std::uint64_t cr3 = 0;
  std::uint64_t pointer_at = 0;  // physical address of the kernel's own note of who runs here
  std::uint64_t pids_at = 0;     // physical address of task.pid
};

class Introspection {
 public:
  explicit Introspection(const Machine& machine) : machine_(machine) {}

  // A processor is about to enter user mode, `cr3` being in force; `text` is an address where
  // kernel code ran. Brings `running` up to date; true if another task, or another address space,
  // runs than before. Where no kernel is known that can be asked, each address space is taken for
  // a task of its own.
  bool update(void* cpu, std::uint64_t cr3, std::uint64_t text, RunningTask& running);

  // What the task has mapped; empty without a known kernel.
  std::vector<guest::GuestMapping> mappings(const RunningTask& running) const;
  // The address space's name: CR3 without PCID, and the same for both halves where the kernel
  // isolates its page tables.
  std::uint64_t key(std::uint64_t cr3) const;
  // Why the guest's tasks are not known, or what its kernel is; changes once.
  std::string description() const;
  bool knows_kernel() const { return kernel_.load(std::memory_order_acquire) != nullptr; }

 private:
  bool find_kernel(void* cpu, std::uint64_t cr3, std::uint64_t text);
  guest::VirtualMemory kernel_memory(std::uint64_t cr3) const;
  bool unchanged(std::uint64_t cr3, const RunningTask& running) const;

  const Machine& machine_;
  mutable std::mutex mutex_;  // of the search
  std::atomic<const guest::Kernel*> kernel_ = nullptr;
  bool five_levels_ = false;
  bool isolated_ = false;  // page-table isolation: CR3 bit 12 tells the halves apart
  unsigned attempts_ = 0;
  std::uint64_t next_attempt_ = 0;  // in user entries
  std::uint64_t entries_ = 0;
  std::string description_;
};

}  // namespace hodo::plugin
