#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "hodo/view/losses.h"
#include "hodo/view/report.h"
#include "hodo/view/stats.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

Json tasks_json(const std::vector<analyze::TaskLine>& tasks) {
  Json out = Json::array();
  for (const analyze::TaskLine& task : tasks) {
    Json line{{"pid", task.pid},
              {"tid", task.tid},
              {"thread", task.thread},
              {"depth", task.depth},
              {"comm", task.comm},
              {"instructions", task.totals.instructions},
              {"branches_taken", task.totals.branches}};
    if (task.wall_ns != 0) line["wall_ns"] = task.wall_ns;
    out.push_back(std::move(line));
  }
  return out;
}

Json ends_json(const std::vector<EndLine>& ends) {
  Json out = Json::array();
  for (const EndLine& line : ends) {
    const session::ProcessEnd& end = line.end;
    Json one{{"pid", end.pid}, {"comm", end.comm}, {"command", end.command}};
    if (end.time != 0) one["time"] = end.time;
    if (end.exit_status >= 0) one["exit_status"] = end.exit_status;
    if (end.signal != 0) {
      one["signal"] = end.signal;
      if (const char* name = sigabbrev_np(end.signal))
        one["signal_name"] = fmt::format("SIG{}", name);
    }
    if (end.tid != 0) one["tid"] = end.tid;
    if (end.ip) {
      one["ip"] = fmt::format("0x{:x}", *end.ip);
      one["place"] = line.place;
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json functions_json(std::span<const HotFunction> functions, std::size_t top) {
  Json out = Json::array();
  for (const HotFunction& f : functions.first(std::min(top, functions.size()))) {
    Json line{{"function", f.name},
              {"object", f.object},
              {"instructions", f.instructions},
              {"calls", f.calls}};
    if (f.synthetic) line["synthetic"] = true;
    if (!f.source.empty()) line["source"] = f.source;
    out.push_back(std::move(line));
  }
  return out;
}

Json edges_json(const std::vector<HotEdge>& edges) {
  Json out = Json::array();
  for (const HotEdge& e : edges) {
    Json line{{"from", e.from}, {"to", e.to}, {"kind", name(e.kind)}, {"count", e.count}};
    if (e.from_synthetic) line["from_synthetic"] = true;
    if (e.to_synthetic) line["to_synthetic"] = true;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

Json report_json(const Report& report, const session::Session& session,
                 const session::Outcome& outcome, std::size_t top) {
  Json out = stats_json(session, outcome);
  out["finished"] = report.finished;
  if (report.snapshot) out["snapshot"] = true;
  if (!report.command.empty()) out["command"] = report.command;
  if (!report.host.empty()) out["host"] = report.host;
  if (!report.recorded_by.empty()) out["recorded_by"] = report.recorded_by;
  if (report.wall_clock_ns != 0) out["recorded_ns"] = report.wall_clock_ns;
  if (report.duration_ns != 0) out["duration_ns"] = report.duration_ns;
  if (!report.ends.empty()) out["ended"] = ends_json(report.ends);
  out["tasks"] = tasks_json(report.tasks);
  out["functions"] = functions_json(report.functions, top);
  std::vector<HotFunction> called = report.functions;
  std::erase_if(called, [](const HotFunction& f) { return f.calls == 0; });
  std::ranges::stable_sort(called, std::ranges::greater(), &HotFunction::calls);
  out["most_called"] = functions_json(called, top);
  out["edges"] = edges_json(report.edges);
  return out;
}

}  // namespace hodo::view
