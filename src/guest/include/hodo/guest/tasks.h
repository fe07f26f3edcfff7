// The guest's processes and threads, read from its kernel's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct Task {
  std::uint64_t address = 0;  // of its task_struct
  std::int32_t pid = 0;       // of the thread, as the kernel counts (gettid)
  std::int32_t tgid = 0;      // of the process
  std::int32_t parent = 0;    // the parent's tgid
  std::string comm;
  std::uint64_t mm = 0;   // 0: a kernel thread
  std::uint64_t cr3 = 0;  // physical address of the top-level table; 0: a kernel thread
};

// One task_struct; nullopt if the memory is not readable or is none.
std::optional<Task> read_task(const VirtualMemory& memory, const Kernel& kernel,
                              std::uint64_t address);

struct Process {
  Task leader;
  std::vector<Task> threads;  // with the leader
};

// The process of `leader`, with the threads that its own list has.
Process read_process(const VirtualMemory& memory, const Kernel& kernel, Task leader);

// All processes in the kernel's task list, the idle task first. At most 65,536; nullopt if the list
// leads nowhere.
std::optional<std::vector<Process>> read_processes(const VirtualMemory& memory,
                                                   const Kernel& kernel);

}  // namespace hodo::guest
