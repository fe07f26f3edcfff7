// Who runs on a virtual processor, asked of the guest's own kernel without its help.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hodo/guest/entries.h"
#include "hodo/guest/functions.h"
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

// A kernel that was found, and what recording it takes.
struct KnownKernel {
  guest::Kernel kernel;
  guest::KernelFunctions functions;
  std::optional<guest::KernelEntries> entries;  // nullopt: where it is entered is not known
};

class Introspection {
 public:
  explicit Introspection(const Machine& machine) : machine_(machine) {}

  // A processor is about to enter user mode, `cr3` being in force; `text` is an address where
  // kernel code ran. Brings `running` up to date; true if another task, or another address space,
  // runs than before. Where no kernel is known that can be asked, each address space is taken for
  // a task of its own.
  bool update(void* cpu, std::uint64_t cr3, std::uint64_t text, RunningTask& running);
  // The kernel, which is known, is about to go on with the task whose task_struct lies at `task`.
  void switch_to(void* cpu, std::uint64_t task, RunningTask& running);
  // The task whose task_struct lies at `task`, if it has ended and goes for the last time.
  std::optional<guest::Task> ended(void* cpu, std::uint64_t task) const;

  // The task that runs; nullopt: unknown. In the kernel, before SWAPGS back.
  std::optional<guest::Task> current(void* cpu) const;
  std::optional<guest::Task> task_at(void* cpu, std::uint64_t task) const;
  // The guest starts again: whatever runs from here on is to be found anew.
  void forget_kernel();

  // What the task has mapped; empty without a known kernel.
  std::vector<guest::GuestMapping> mappings(const RunningTask& running) const;
  // The address space's name: CR3 without PCID, and the same for both halves where the kernel
  // isolates its page tables.
  std::uint64_t key(std::uint64_t cr3) const;
  // Why the guest's tasks are not known, or what its kernel is; changes once.
  std::string description() const;
  // Null while no kernel is known. What it points to stays.
  const KnownKernel* kernel() const { return kernel_.load(std::memory_order_acquire); }
  // The search has begun; it need not have found anything.
  bool tried() const { return tried_.load(std::memory_order_relaxed); }
  // The kernel's own half of an address space.
  guest::VirtualMemory kernel_memory(std::uint64_t cr3) const;

 private:
  bool find_kernel(void* cpu, std::uint64_t cr3, std::uint64_t text);
  bool read(std::uint64_t cr3, std::uint64_t pointer_at, std::uint64_t task,
            RunningTask& running) const;
  std::optional<std::uint64_t> current_task_at(void* cpu, std::uint64_t cr3,
                                               Register gs_base) const;
  void lose_kernel(std::uint64_t cr3, RunningTask& running);
  bool unchanged(std::uint64_t cr3, const RunningTask& running) const;

  const Machine& machine_;
  mutable std::mutex mutex_;  // of the search
  std::atomic<const KnownKernel*> kernel_ = nullptr;
  std::atomic<bool> tried_ = false;
  bool five_levels_ = false;
  bool isolated_ = false;  // page-table isolation: CR3 bit 12 tells the halves apart
  unsigned attempts_ = 0;
  std::uint64_t next_attempt_ = 0;  // in user entries
  std::uint64_t entries_ = 0;
  std::string description_;
};

}  // namespace hodo::plugin
