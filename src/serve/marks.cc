#include "marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "finding_places.h"
#include "hodo/serve/asking.h"
#include "hodo/session/facts.h"
#include "hodo/session/new_code.h"
#include "hodo/view/moments.h"

namespace hodo::serve {
namespace {

std::string_view mark_kind(MarkKind kind) {
  switch (kind) {
    case MarkKind::lost:
      return "lost";
    case MarkKind::signal:
      return "signal";
    case MarkKind::sample:
      return "sample";
    case MarkKind::exec:
      break;
  }
  return "exec";
}

std::string_view mark_words(MarkKind kind) {
  switch (kind) {
    case MarkKind::lost:
      return "a part of the trace is missing";
    case MarkKind::signal:
      return "entered from outside: a signal handler, or a callback from where nothing is recorded";
    case MarkKind::sample:
      return "a sample begins: what ran before it, and since when its outer calls are open, is not "
             "known";
    case MarkKind::exec:
      break;
  }
  return "another program took the place of the one before";
}

std::string moment_text(const Lane& lane, std::uint64_t branch) {
  return ask::to_string(ask::Moment{lane.total.thread, branch, 0});
}

// Where a lane was at a time: the last that its slices say of before.
ShownMark at_time(const Lane& lane, std::uint64_t time, std::string_view kind, std::string text) {
  std::uint64_t instructions = 0, branch = 0;
  for (const std::vector<Slice>& row : lane.rows) {
    auto it =
        std::ranges::upper_bound(row, time, {}, [](const Slice& slice) { return slice.from.time; });
    if (it == row.begin()) continue;
    const Slice& last = *--it;
    branch = std::max(branch, last.branch);
    const Place& known = last.to.time <= time ? last.to : last.from;
    instructions = std::max(instructions, known.instructions);
  }
  return {{time, instructions}, kind, std::move(text), moment_text(lane, branch)};
}

void add_findings(Workspace& workspace, const Lane& lane, std::vector<ShownMark>& out) {
  const view::Checked* checked = workspace.checked_already();
  if (checked == nullptr) return;
  session::Clock clock = workspace.session().clock();
  const auto& places = workspace.finding_places();
  for (std::size_t i = 0; i < checked->findings.size(); ++i) {
    const check::Finding& finding = checked->findings[i];
    if (ask::thread_of(finding.who) != lane.total.thread || !places[i]) continue;
    out.push_back({{clock.nanoseconds(finding.branch.time), places[i]->instructions},
                   "finding",
                   std::string(finding.rule->name),
                   fmt::format("finding:{}", i + 1)});
  }
}

void add_ends(const session::Session& session, const Lane& lane, std::vector<ShownMark>& out) {
  for (const session::ProcessEnd& end : ends_of(session)) {
    const std::int32_t tid = end.tid != 0 ? end.tid : end.pid;
    if (end.pid != lane.total.pid || tid != lane.total.thread.tid) continue;
    out.push_back({{end.time, lane.total.instructions},
                   "end",
                   view::end_words(end),
                   "end:" + ask::to_string(lane.total.thread)});
  }
}

// Of a process, on the lane of its first thread: nobody knows which one it was.
void add_facts(const session::Facts& facts, const Lane& lane, std::vector<ShownMark>& out) {
  const ThreadTotal& total = lane.total;
  if (total.thread.tid != total.pid || total.first_time == 0) return;
  for (const session::Process& process : facts.processes) {
    if (process.ppid != total.pid || process.pid == total.pid || process.start == 0) continue;
    out.push_back(at_time(lane, process.start, "fork",
                          fmt::format("process {} ({}) was started", process.pid, process.comm)));
  }
  if (facts.snapshot) {
    out.push_back(at_time(lane, total.first_time, "snapshot",
                          "only the newest part was kept: what ran before is not recorded"));
  }
}

// More is no use in a picture, and takes time for each piece of it.
constexpr std::size_t kMostOfCode = 1 << 11;

void add_new_code(const session::Session& session, const Lane& lane, Marks& marks) {
  const ThreadTotal& total = lane.total;
  if (total.thread.tid != total.pid || total.first_time == 0) return;
  std::size_t told = 0;
  for (const session::NewCode& code : session::new_code_of(session)) {
    if (code.pid != total.pid || code.time <= total.first_time) continue;
    if (++told > kMostOfCode) {
      ++marks.left_out;
      continue;
    }
    marks.list.push_back(
        at_time(lane, code.time, "code",
                fmt::format("{} bytes of code at {:#x}, as they were from here on, that are in no "
                            "file",
                            code.size, code.address)));
  }
}

}  // namespace

Marks marks_of(Workspace& workspace, const Lane& lane) {
  Marks out{.left_out = lane.more_marks};
  for (const Mark& mark : lane.marks) {
    out.list.push_back({mark.at, mark_kind(mark.kind), std::string(mark_words(mark.kind)),
                        moment_text(lane, mark.branch)});
  }
  const session::Facts* facts = workspace.session().facts();
  if (facts != nullptr) add_facts(*facts, lane, out.list);
  add_new_code(workspace.session(), lane, out);
  add_findings(workspace, lane, out.list);
  add_ends(workspace.session(), lane, out.list);
  return out;
}

}  // namespace hodo::serve
