// What the recording comes to as a whole: stats, report, coverage, findings, ends.
#include <algorithm>
#include <array>
#include <utility>

#include "hodo/analyze/profile.h"
#include "hodo/serve/ends.h"
#include "hodo/view/coverage.h"
#include "hodo/view/findings.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/report.h"
#include "hodo/view/stats.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

Result<Json> answer_stats(Workspace& workspace, const Json&) {
  auto outcome = workspace.session().count(workspace.walk());
  if (!outcome) return std::unexpected(outcome.error());
  return view::stats_json(workspace.session(), *outcome);
}

Json stats_result() {
  using namespace schema;
  return object({{"file", string("the recording")},
                 {"complete", flag("nothing was lost")},
                 {"bytes", number("of trace")},
                 {"skipped_bytes", number("of them that could not be decoded")},
                 {"instructions", number("that were executed")},
                 {"branches", any("by kind")},
                 {"packets", any("by kind")},
                 {"events", any("of the trace, by kind")},
                 {"growing", growing()},
                 {"losses", losses()},
                 {"queues", list(any(), "each stream of trace data")}},
                {"file", "complete", "instructions", "branches", "losses"});
}

Result<Json> answer_report(Workspace& workspace, const Json& params) {
  session::Session& session = workspace.session();
  analyze::Profile profile(session.names());
  auto outcome = session.cover(workspace.walk(), profile);
  if (!outcome) return std::unexpected(outcome.error());
  const std::size_t top = number_in(params, "top", 10);
  const view::Report report = view::make_report(session, *outcome, profile, top);
  return view::report_json(report, session, *outcome, top);
}

Json report_parameters() {
  return schema::parameters({{"top", schema::number("how many functions and edges (10)", 1)}});
}

Json report_result() {
  using namespace schema;
  Json out = stats_result();
  out["properties"]["command"] = string("that recorded it");
  out["properties"]["host"] = string("where it was recorded");
  out["properties"]["recorded_by"] = string("which program and version");
  out["properties"]["recorded_ns"] = any("when: nanoseconds since 1970");
  out["properties"]["duration_ns"] = number("from its first to its last time");
  out["properties"]["finished"] = flag("the recorder came to its end");
  out["properties"]["snapshot"] = flag("it holds the newest part only");
  out["properties"]["ended"] = list(any(), "how processes ended");
  out["properties"]["tasks"] = list(any(), "processes and threads, what each executed");
  out["properties"]["functions"] = list(any(), "by instructions");
  out["properties"]["most_called"] = list(any(), "by calls");
  out["properties"]["edges"] = list(any(), "the most frequent branches");
  return out;
}

constexpr std::size_t kMostRows = 1000;

struct CountedList {
  const char* name;
  const char* count;  // of its rows
};
constexpr std::array<CountedList, 4> kCountedLists{
    {{"functions", "blocks_hit"}, {"blocks", "count"}, {"edges", "count"}, {"lines", "count"}}};

// Of what is too long those that ran come first.
void cut_lists(Json& module, std::size_t most) {
  Json left_out = Json::object();
  for (const CountedList& list : kCountedLists) {
    if (!module.contains(list.name) || module[list.name].size() <= most) continue;
    auto& rows = module[list.name].get_ref<Json::array_t&>();
    std::ranges::stable_partition(rows, [&](const Json& row) { return row[list.count] != 0; });
    left_out[list.name] = rows.size() - most;
    rows.resize(most);
  }
  if (!left_out.empty()) module["left_out"] = std::move(left_out);
}

Result<Json> answer_coverage(Workspace& workspace, const Json& params) {
  auto covered = workspace.covered();
  if (!covered) return std::unexpected(covered.error());
  view::Output out;
  view::write_coverage_json(**covered, workspace.session(), (*workspace.counted())->outcome, out);
  Json all = Json::parse(out.take());
  const std::string module = text_in(params, "module");
  const std::size_t limit = number_in(params, "limit", kMostRows);
  Json kept = Json::array();
  for (Json& one : all["modules"]) {
    if (one["path"].get<std::string>().find(module) == std::string::npos) continue;
    for (const char* const part : {"functions", "blocks", "edges", "files", "lines"}) {
      if (!params.contains("parts")) break;
      const Json& parts = params["parts"];
      if (std::ranges::find(parts, part) == parts.end()) one.erase(part);
    }
    if (limit != 0) cut_lists(one, limit);
    kept.push_back(std::move(one));
  }
  all["modules"] = std::move(kept);
  return all;
}

Json coverage_parameters() {
  using namespace schema;
  return parameters({{"module", string("only files whose path contains this")},
                     {"parts", list(one_of({"functions", "blocks", "edges", "files", "lines"}, ""),
                                    "which lists of each file (all)")},
                     {"limit", number("how many rows of each list but 'files', those that ran "
                                      "first; 0: all (1000). A file's 'left_out' says how many "
                                      "more there are")}});
}

Json coverage_result() {
  using namespace schema;
  return object({{"file", string("the recording")},
                 {"complete", flag("nothing was lost")},
                 {"dropped", number("branches that are not counted")},
                 {"losses", losses()},
                 {"modules", list(any(), "files in which anything ran")}},
                {"file", "complete", "losses", "modules"});
}

Result<Json> answer_findings(Workspace& workspace, const Json&) {
  auto checked = workspace.checked();
  if (!checked) return std::unexpected(checked.error());
  return view::findings_json(**checked, workspace.session());
}

Json findings_result() {
  using namespace schema;
  return object({{"branches", number("that were looked at")},
                 {"complete", flag("nothing was lost, and everything could be judged")},
                 {"windows", flag("of branch stacks, between which anything may have happened")},
                 {"explained", number("what looked wrong and was explained, times")},
                 {"findings", list(any(), "with evidence; finding:N is the N-th")},
                 {"suppressed", list(any(), "which suppression left out how many")},
                 {"unused_suppressions", list(string("a line that fitted nothing"))},
                 {"learned", any("what a baseline learned of the run")},
                 {"not_checked", list(any(), "what could not be judged: path, reason, branches")},
                 {"not_judged", list(string("what the check says nothing about"))},
                 {"growing", growing()},
                 {"losses", losses()}},
                {"findings"});
}

Result<Json> answer_ends(Workspace& workspace, const Json& params) {
  session::Session& session = workspace.session();
  const ask::FindOptions how = workspace.find();
  session::Outcome outcome;
  auto lasts = ask::last_moments(session, how.walk, &outcome, how.index);
  if (!lasts) return std::unexpected(lasts.error());
  const auto all = ended_processes(session, *lasts, -1);
  auto out = ends_json(session, all, number_in(params, "around", 12), how.walk.progress, how.index);
  if (!out) return out;
  (*out)["losses"] = view::losses_json(outcome.losses, session.clock());
  return out;
}

Json ends_parameters() {
  return schema::parameters(
      {{"around", schema::number("of the last lines, instructions and branches, how many (12)", 1,
                                 kMostOfEnds)}});
}

Json ends_result() {
  using namespace schema;
  return object(
      {{"processes",
        list(object(
            {{"pid", any("its number; -1: unknown")},
             {"comm", string("its name")},
             {"exit_status", number("where it exited")},
             {"signal", number("that ended it")},
             {"tid", any("the thread that ended it")},
             {"fault", any("what the kernel told of the signal: which access, where")},
             {"ended", string("how, in words")},
             {"alone", flag("only the thread `tid` ended so")},
             {"runs", flag("it had not ended when a recording that grows was opened")},
             {"threads", list(any(), "scenes of their last moments")},
             {"main_returned", any("of one that exited with another status than 0 since main "
                                   "returned it: a scene of that return")},
             {"exit_called", any("of one that called exit or the like with another status than 0: "
                                 "a scene of where the program itself made the call")},
             {"last_exception", any("of one that exited with another status than 0: a scene of "
                                    "where it raised its last exception or panic")}},
            {"pid", "ended", "threads"}))},
       {"threads_left_out", number("that are not shown")},
       {"losses", losses()}},
      {"processes", "losses"});
}

}  // namespace

Method stats_method() {
  return {"stats", "Counts of instructions, branches, packets and losses, as hodo stats --json.",
          schema::no_parameters, stats_result, answer_stats};
}
Method report_method() {
  return {"report", "The summary: tasks, hottest functions and branches, as hodo report --json.",
          report_parameters, report_result, answer_report};
}
Method coverage_method() {
  return {"coverage", "Which functions, blocks, edges and lines ran, as hodo coverage --json.",
          coverage_parameters, coverage_result, answer_coverage};
}
Method findings_method() {
  return {"findings", "Where the program went that it was not allowed to, as hodo check --json.",
          schema::no_parameters, findings_result, answer_findings};
}
Method ends_method() {
  return {"ends", "How each process ended and what led up to it, as hodo crash --json.",
          ends_parameters, ends_result, answer_ends};
}

}  // namespace hodo::serve
