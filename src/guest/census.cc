#include "hodo/guest/census.h"

#include <algorithm>
#include <map>
#include <set>

#include "hodo/base/page.h"
#include "hodo/guest/mappings.h"

namespace hodo::guest {
namespace {

constexpr std::size_t kMostTasks = 65'536;
// TASK_NEW: being made, not yet in the list; TASK_DEAD: perhaps not in it any more.
constexpr std::uint32_t kTaskNew = 0x800, kTaskDead = 0x80;

class Counting {
 public:
  Counting(const PhysicalMemory& memory, const RunningKernel& running)
      : memory_(memory, running.paging), kernel_(running.kernel) {
    const std::uint64_t at = kernel_.address_of("vmemmap_base");
    if (at != 0) page_descriptors_ = memory_.read<std::uint64_t>(at).value_or(0);
  }

  bool knows_owners() const {
    return kernel_.layout.page.known && kernel_.layout.mm.has_owner && page_descriptors_ != 0;
  }

  // The mm_struct whose top-level table lies at `table`; 0: none is known.
  std::uint64_t mm_of(std::uint64_t table) const {
    return mm_of_page(page_descriptors_ + (table >> kPageBits) * kernel_.layout.page.size);
  }

  // The mm_structs of all top-level tables that the kernel lists.
  std::set<std::uint64_t> listed_mms() const {
    std::set<std::uint64_t> out;
    const std::uint64_t head = kernel_.address_of("pgd_list");
    if (head == 0) return out;
    auto node = memory_.read<std::uint64_t>(head);
    for (std::size_t i = 0; node && *node != head && i < kMostTasks; ++i) {
      out.insert(mm_of_page(*node - kernel_.layout.page.list));
      node = memory_.read<std::uint64_t>(*node);
    }
    return out;
  }

  // The task that `mm` belongs to, if it is alive and uses it.
  std::optional<Task> owner_of(std::uint64_t mm) const {
    if (mm == 0) return std::nullopt;
    const Layout& l = kernel_.layout;
    const auto owner = memory_.read<std::uint64_t>(mm + l.mm.owner);
    if (!owner || *owner == 0) return std::nullopt;
    auto task = settled(*owner);
    return task && task->mm == mm ? task : std::nullopt;
  }

  // A task that is neither just being made nor gone.
  std::optional<Task> settled(std::uint64_t address) const {
    const auto state = memory_.read<std::uint32_t>(address + kernel_.layout.task.state);
    if (!state || (*state & (kTaskNew | kTaskDead)) != 0) return std::nullopt;
    auto task = read_task(memory_, kernel_, address);
    return task && task->pid != 0 ? task : std::nullopt;
  }

  // The processes whose parent the task at `address` is; at most 65,536.
  std::vector<std::uint64_t> children_of(std::uint64_t address) const {
    std::vector<std::uint64_t> out;
    const std::uint64_t head = address + kernel_.layout.task.children;
    auto node = memory_.read<std::uint64_t>(head);
    while (node && *node != 0 && *node != head && out.size() < kMostTasks) {
      out.push_back(*node - kernel_.layout.task.sibling);
      node = memory_.read<std::uint64_t>(*node);
    }
    return out;
  }

  std::string executable_of(std::uint64_t mm) const {
    const auto file = memory_.read<std::uint64_t>(mm + kernel_.layout.mm.exe_file);
    return file && *file != 0 ? read_path(memory_, kernel_, *file) : std::string();
  }

  Resident resident(Process process) const {
    Resident out{.process = std::move(process)};
    // A leader that has ended before its threads has no address space any more.
    for (const Task& thread : out.process.threads) {
      if (thread.mm == 0) continue;
      out.cr3 = thread.cr3;
      out.executable = executable_of(thread.mm);
      break;
    }
    return out;
  }

  Process process_of(const Task& owner) const {
    const auto at = memory_.read<std::uint64_t>(owner.address + kernel_.layout.task.group_leader);
    const auto leader = at ? read_task(memory_, kernel_, *at) : std::nullopt;
    return read_process(memory_, kernel_, leader.value_or(owner));
  }

  const VirtualMemory& memory() const { return memory_; }

 private:
  std::uint64_t mm_of_page(std::uint64_t page) const {
    return memory_.read<std::uint64_t>(page + kernel_.layout.page.mm).value_or(0);
  }

  VirtualMemory memory_;
  const Kernel& kernel_;
  std::uint64_t page_descriptors_ = 0;  // of all physical pages, in order
};

}  // namespace

Result<Census> take_census(const PhysicalMemory& memory, const RunningKernel& running,
                           std::span<const std::uint64_t> seen) {
  const Counting counting(memory, running);
  auto processes = read_processes(counting.memory(), running.kernel);
  if (!processes) return fail(ErrorCode::malformed, "the guest's task list leads nowhere");
  Census out{.cross_checked = counting.knows_owners()};
  std::set<std::uint64_t> listed, tables;  // addresses of task_structs; physical ones of tables
  const auto add = [&](Resident resident) {
    for (const Task& thread : resident.process.threads) listed.insert(thread.address);
    tables.insert(resident.cr3);
    out.residents.push_back(std::move(resident));
  };
  for (Process& process : *processes) add(counting.resident(std::move(process)));

  std::set<std::uint64_t> mms;
  if (out.cross_checked) mms = counting.listed_mms();
  for (const std::uint64_t cr3 : seen) {
    if (out.cross_checked) mms.insert(counting.mm_of(running.table_of(cr3)));
  }
  std::map<std::int32_t, Resident> hidden;
  const auto hide = [&](const Task& task) {
    Resident resident = counting.resident(counting.process_of(task));
    resident.hidden = true;
    hidden.try_emplace(resident.process.leader.pid, std::move(resident));
  };
  for (const std::uint64_t mm : mms) {
    const auto owner = counting.owner_of(mm);
    if (owner && !listed.contains(owner->address)) hide(*owner);
  }
  std::set<std::uint64_t> seen_tasks = listed;
  std::vector<std::uint64_t> parents(listed.begin(), listed.end());
  while (!parents.empty() && seen_tasks.size() < 2 * kMostTasks) {
    const std::uint64_t parent = parents.back();
    parents.pop_back();
    for (const std::uint64_t child : counting.children_of(parent)) {
      if (!seen_tasks.insert(child).second) continue;
      parents.push_back(child);
      if (const auto task = counting.settled(child)) hide(*task);
    }
  }
  for (auto& [pid, resident] : hidden) add(std::move(resident));

  for (const std::uint64_t cr3 : seen) {
    const std::uint64_t table = running.table_of(cr3);
    if (!tables.contains(table) && std::ranges::find(out.others, table) == out.others.end()) {
      out.others.push_back(table);
    }
  }
  return out;
}

}  // namespace hodo::guest
