#include "hodo/view/report.h"

#include <fmt/format.h>

#include <utility>

#include "hodo/view/growing.h"
#include "hodo/view/place.h"
#include "hodo/view/shell.h"
#include "hodo/view/task_name.h"

namespace hodo::view {

std::string command_of(const session::Facts& facts) {
  std::string out;
  for (const std::string& word : facts.command) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

std::string host_of(const session::Facts& facts) {
  std::string details;
  auto add = [&](const std::string& text) {
    if (!text.empty()) details += (details.empty() ? "" : ", ") + text;
  };
  add(facts.osrelease.empty() ? "" : "Linux " + facts.osrelease);
  add(facts.arch);
  add(facts.cpus != 0 ? fmt::format("{} cpus", facts.cpus) : "");
  add(facts.cpudesc);
  if (details.empty()) return facts.hostname;
  return facts.hostname.empty() ? details : fmt::format("{} ({})", facts.hostname, details);
}

namespace {

// The last process of that number.
std::uint32_t space_of(const session::Facts& facts, std::int32_t pid) {
  const auto& processes = facts.processes;
  for (std::size_t i = processes.size(); i-- != 0;) {
    if (processes[i].pid == pid) return static_cast<std::uint32_t>(i);
  }
  return session::kNoProcess;
}

std::vector<EndLine> end_lines(const session::Session& session, const session::Facts& facts) {
  std::vector<EndLine> out;
  for (const session::ProcessEnd& end : facts.ends) {
    EndLine line{.end = end, .place = {}};
    if (const std::string last = task_name(session, line.end.pid, line.end.pid); !last.empty()) {
      line.end.comm = last;
    }
    if (line.end.ip) {
      const std::uint32_t space = space_of(facts, line.end.pid);
      const auto place = space == session::kNoProcess
                             ? session::Place()
                             : session.names().place(space, *line.end.ip, 0);
      line.place = describe(*line.end.ip, place, {});
    }
    out.push_back(std::move(line));
  }
  return out;
}

void add_recording(Report& report, const session::Facts& facts, const analyze::Profile& profile) {
  report.command = command_of(facts);
  report.host = host_of(facts);
  report.recorded_by = facts.recorder;
  report.wall_clock_ns = facts.wall_clock;
  if (facts.last_time > facts.first_time) report.duration_ns = facts.last_time - facts.first_time;
  report.finished = facts.finished;
  report.snapshot = facts.snapshot;
  report.tasks = analyze::task_tree(facts, profile);
}

}  // namespace

Report make_report(const session::Session& session, const session::Outcome& outcome,
                   const analyze::Profile& profile, std::size_t top, SourceDetail detail) {
  Report report{.file = session.path()};
  report.growing = growing_text(session);
  report.trace_bytes = outcome.stats.bytes;
  report.raw = session.facts() == nullptr;
  if (const session::Facts* facts = session.facts()) {
    add_recording(report, *facts, profile);
    report.ends = end_lines(session, *facts);
  }
  const std::vector<analyze::Edge> edges = profile.edges();
  HotPlaces hot = hot_places(edges, session.names(), top, detail);
  report.functions = std::move(hot.functions);
  std::erase_if(report.functions,
                [](const HotFunction& f) { return f.instructions == 0 && f.calls == 0; });
  report.edges = std::move(hot.edges);
  report.dropped_edges = profile.dropped();
  return report;
}

}  // namespace hodo::view
