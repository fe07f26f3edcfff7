#include "hodo/guest/tasks.h"

namespace hodo::guest {
namespace {

constexpr std::size_t kCommSize = 16;  // TASK_COMM_LEN
constexpr std::size_t kMostProcesses = 65'536;
constexpr std::size_t kMostThreads = 65'536;

std::vector<Task> read_threads(const VirtualMemory& memory, const Kernel& kernel,
                               const Task& leader) {
  std::vector<Task> out;
  const Layout& l = kernel.layout;
  const auto signal = memory.read<std::uint64_t>(leader.address + l.task.signal);
  if (!signal) return {leader};
  const std::uint64_t head = *signal + l.signal.thread_head;
  auto node = memory.read<std::uint64_t>(head);
  while (node && *node != head && out.size() < kMostThreads) {
    auto task = read_task(memory, kernel, *node - l.task.thread_node);
    if (!task) break;
    out.push_back(std::move(*task));
    node = memory.read<std::uint64_t>(*node);
  }
  if (out.empty()) out.push_back(leader);
  return out;
}

}  // namespace

std::optional<Task> read_task(const VirtualMemory& memory, const Kernel& kernel,
                              std::uint64_t address) {
  const Layout& l = kernel.layout;
  const auto pid = memory.read<std::int32_t>(address + l.task.pid);
  const auto tgid = memory.read<std::int32_t>(address + l.task.tgid);
  const auto mm = memory.read<std::uint64_t>(address + l.task.mm);
  const auto parent = memory.read<std::uint64_t>(address + l.task.real_parent);
  auto comm = memory.read_string(address + l.task.comm, kCommSize);
  if (!pid || !tgid || !mm || !parent || !comm || *pid < 0 || *tgid < 0) return std::nullopt;
  Task task{.address = address, .pid = *pid, .tgid = *tgid, .comm = std::move(*comm), .mm = *mm};
  task.parent = memory.read<std::int32_t>(*parent + l.task.tgid).value_or(0);
  if (task.mm != 0) {
    const auto pgd = memory.read<std::uint64_t>(task.mm + l.mm.pgd);
    if (pgd) task.cr3 = memory.physical_address(*pgd).value_or(0);
  }
  return task;
}

Process read_process(const VirtualMemory& memory, const Kernel& kernel, Task leader) {
  // The idle tasks of all processors share their first one's signal_struct and are in no list.
  auto threads = leader.address == kernel.init_task ? std::vector{leader}
                                                    : read_threads(memory, kernel, leader);
  return {std::move(leader), std::move(threads)};
}

std::optional<std::vector<Process>> read_processes(const VirtualMemory& memory,
                                                   const Kernel& kernel) {
  std::vector<Process> out;
  const std::uint64_t tasks = kernel.layout.task.tasks;
  std::uint64_t address = kernel.init_task;
  do {
    auto leader = read_task(memory, kernel, address);
    if (!leader) return std::nullopt;
    out.push_back(read_process(memory, kernel, std::move(*leader)));
    const auto next = memory.read<std::uint64_t>(address + tasks);
    if (!next) return std::nullopt;
    address = *next - tasks;
  } while (address != kernel.init_task && out.size() < kMostProcesses);
  return out;
}

}  // namespace hodo::guest
