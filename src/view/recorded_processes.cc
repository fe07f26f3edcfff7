#include "hodo/view/recorded_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
std::string recorded_processes_text(const session::Facts& facts,
                                    const analyze::ProcessSpaces& spaces, const Style& style) {
  Table table({{"PID", Align::right},
               {"PPID", Align::right},
               {"THREADS", Align::right},
               {"BRANCHES", Align::right},
               {"NAME", Align::left, Tone::name},
               {"CR3", Align::left, Tone::plain, true}});
  bool any_cr3 = false;
  for (std::uint32_t i = 0; i < facts.processes.size(); ++i) {
    const session::Process& process = facts.processes[i];
    const analyze::ProcessSpaces::Seen seen = spaces.of(i);
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
        "\nThe recording does not say in which address spaces they ran; it would with hodo vm "
        "record --kernel.\n";
  }
  return out;
}

nlohmann::ordered_json recorded_processes_json(const session::Facts& facts,
                                               const analyze::ProcessSpaces& spaces) {
  using Json = nlohmann::ordered_json;
  Json processes = Json::array();
  for (std::uint32_t i = 0; i < facts.processes.size(); ++i) {
    const session::Process& process = facts.processes[i];
    const analyze::ProcessSpaces::Seen seen = spaces.of(i);
    Json cr3s = Json::array(), threads = Json::array();
    for (const std::uint64_t cr3 : seen.cr3s) cr3s.push_back(fmt::format("{:#x}", cr3));
    for (const std::uint32_t index : process.threads) {
      const session::Thread& thread = facts.threads[index];
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
