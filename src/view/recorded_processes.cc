#include "hodo/view/recorded_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

// A guest chooses what it writes to CR3.
constexpr std::size_t kMostSpaces = 64;

// The kernel loads the next task's CR3 while it is still the one before that runs, and its own
// threads borrow whatever there is: only what user code ran under is a process's own.
bool in_user_mode(const Branch& branch) {
  const auto user = [](std::uint64_t address) { return address != 0 && address >> 63 == 0; };
  return user(branch.from) || user(branch.to);
}

}  // namespace

bool RecordedProcesses::branches(const session::Context& context, std::span<const Branch> batch) {
  Seen& seen = seen_[context.space];
  seen.branches += batch.size();
  const bool news = context.cr3 && !seen.cr3s.contains(*context.cr3);
  if (news && seen.cr3s.size() < kMostSpaces && std::ranges::any_of(batch, in_user_mode)) {
    seen.cr3s.insert(*context.cr3);
  }
  return true;
}

std::string RecordedProcesses::text(const Style& style) const {
  Table table({{"PID", Align::right},
               {"PPID", Align::right},
               {"THREADS", Align::right},
               {"BRANCHES", Align::right},
               {"NAME", Align::left, Tone::name},
               {"CR3", Align::left, Tone::plain, true}});
  bool any_cr3 = false;
  for (std::uint32_t i = 0; i < facts_.processes.size(); ++i) {
    const session::Process& process = facts_.processes[i];
    const auto found = seen_.find(i);
    const Seen seen = found == seen_.end() ? Seen{} : found->second;
    std::string cr3s;
    for (const std::uint64_t cr3 : seen.cr3s) cr3s += fmt::format("{:#x} ", cr3);
    any_cr3 |= !cr3s.empty();
    table.add({fmt::format("{}", process.pid),
               process.ppid < 0 ? "-" : fmt::format("{}", process.ppid),
               fmt::format("{}", std::max<std::size_t>(process.threads.size(), 1)),
               grouped(seen.branches), printable(process.comm), cr3s.empty() ? "-" : cr3s});
  }
  std::string out = table.render(style);
  if (!any_cr3) {
    out +=
        "\nThe recording does not say in which address spaces they ran; it would with "
        "hodo vm record --kernel.\n";
  }
  return out;
}

nlohmann::ordered_json RecordedProcesses::json() const {
  using Json = nlohmann::ordered_json;
  Json processes = Json::array();
  for (std::uint32_t i = 0; i < facts_.processes.size(); ++i) {
    const session::Process& process = facts_.processes[i];
    const auto found = seen_.find(i);
    const Seen seen = found == seen_.end() ? Seen{} : found->second;
    Json cr3s = Json::array(), threads = Json::array();
    for (const std::uint64_t cr3 : seen.cr3s) cr3s.push_back(fmt::format("{:#x}", cr3));
    for (const std::uint32_t index : process.threads) {
      const session::Thread& thread = facts_.threads[index];
      threads.push_back({{"tid", thread.tid}, {"name", printable(thread.comm)}});
    }
    processes.push_back({{"pid", process.pid},
                         {"ppid", process.ppid < 0 ? Json() : Json(process.ppid)},
                         {"name", printable(process.comm)},
                         {"cr3", std::move(cr3s)},
                         {"branches", seen.branches},
                         {"threads", std::move(threads)}});
  }
  return {{"processes", std::move(processes)}};
}

}  // namespace hodo::view
