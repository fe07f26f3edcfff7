// What was recorded: processes, threads, how long, what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hodo/session/facts.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/report.h"
#include "hodo/view/task_name.h"
#include "methods.h"
#include "overview.h"
#include "schema.h"

namespace hodo::serve {
namespace {

std::string_view source_of(session::TraceKind kind) {
  switch (kind) {
    case session::TraceKind::pt:
      return "pt";
    case session::TraceKind::bts:
      return "bts";
    case session::TraceKind::stacks:
      return "lbr";
    case session::TraceKind::none:
      break;
  }
  return "none";
}

Json thread_json(const Workspace& workspace, const ThreadTotal& total, const std::string& name) {
  const std::uint64_t start = workspace.start();
  const auto since = [&](std::uint64_t time) {
    return time == 0 ? Json(nullptr) : Json(time - std::min(time, start));
  };
  return {{"thread", ask::to_string(total.thread)},
          {"tid", total.thread.tid},
          {"name", name},
          {"first_ns", since(total.first_time)},
          {"last_ns", since(total.last_time)},
          {"branches", total.branches},
          {"instructions", total.instructions}};
}

// As `hodo vm ps` tells them.
Json spaces_json(const session::Session& session, const Overview& overview, std::int32_t pid) {
  Json out = Json::array();
  const session::Facts* const facts = session.facts();
  for (std::uint32_t i = 0; facts != nullptr && i < facts->processes.size(); ++i) {
    if (facts->processes[i].pid != pid) continue;
    for (const std::uint64_t cr3 : overview.spaces.of(i).cr3s) {
      out.push_back(fmt::format("{:#x}", cr3));
    }
  }
  return out;
}

// The processes that ran something, with the threads that did, in the order of their appearance.
Json processes_json(Workspace& workspace, const Overview& overview) {
  session::Session& session = workspace.session();
  std::vector<std::int32_t> order;
  std::map<std::int32_t, Json> threads;
  for (const Lane& lane : overview.lanes) {
    const ThreadTotal& total = lane.total;
    auto [it, fresh] = threads.try_emplace(total.pid, Json::array());
    if (fresh) order.push_back(total.pid);
    it->second.push_back(
        thread_json(workspace, total, view::task_name(session, total.pid, total.thread.tid)));
  }
  Json out = Json::array();
  for (const std::int32_t pid : order) {
    Json process{{"pid", pid}, {"name", view::task_name(session, pid, pid)}};
    if (Json spaces = spaces_json(session, overview, pid); !spaces.empty()) {
      process["cr3"] = std::move(spaces);
    }
    for (const session::ProcessEnd& end : ends_of(session)) {
      if (end.pid == pid) process["end"] = view::end_words(end);
    }
    process["threads"] = std::move(threads[pid]);
    out.push_back(std::move(process));
  }
  return out;
}

Json processors_json(const Overview& overview) {
  Json out = Json::array();
  for (const Processor& one : overview.processors) {
    out.push_back({{"processor", one.cpu},
                   {"branches", one.branches},
                   {"instructions", one.end.instructions}});
  }
  return out;
}

Result<Json> answer_info(Workspace& workspace, const Json&) {
  auto known = workspace.overview();
  if (!known) return std::unexpected(known.error());
  const Overview& overview = **known;
  session::Session& session = workspace.session();
  const session::Facts* facts = session.facts();
  std::uint64_t last = 0, instructions = 0, branches = 0;
  for (const Lane& lane : overview.lanes) {
    instructions += lane.total.instructions;
    branches += lane.total.branches;
    last = std::max(last, lane.total.last_time);
  }
  const std::uint64_t first = workspace.start();
  const std::uint64_t end = facts == nullptr ? last : std::max(last, facts->last_time);
  const bool samples = session.trace() == session::TraceKind::stacks;
  return Json{{"file", session.path()},
              {"command", facts == nullptr ? "" : view::command_of(*facts)},
              {"source", source_of(session.trace())},
              {"host", facts == nullptr ? "" : view::host_of(*facts)},
              {"start_ns", first},
              {"duration_ns", end > first ? end - first : 0},
              {"has_time", last != 0},
              {"instructions", instructions},
              {"branches", branches},
              {"processes", processes_json(workspace, overview)},
              {"processors", processors_json(overview)},
              {"losses", view::losses_json(overview.losses, session.clock())},
              {"complete", overview.losses.empty()},
              {"version", workspace.options().version},
              {"changed", workspace.changed()},
              {"grown", workspace.grown()},
              {"finished", facts == nullptr || facts->finished},
              {"growing", facts != nullptr && facts->growing},
              {"can",
               {{"samples_only", samples},
                {"check", session.regions() != nullptr},
                {"indexed", workspace.index() != nullptr}}}};
}

Json info_result() {
  using namespace schema;
  Json thread =
      object({{"thread", string("as moments and other methods name it")},
              {"tid", any("its number; -1: unknown")},
              {"name", string("that it had last")},
              {"first_ns", optional(number("when it ran first, as far as the trace knows"))},
              {"last_ns", optional(number("when it ran last"))},
              {"branches", number("that it executed, those not taken left out")},
              {"instructions", number("that it executed")}},
             {"thread", "tid", "name", "branches", "instructions"});
  Json process = object({{"pid", any("its number; -1: unknown")},
                         {"name", string("that it had last")},
                         {"end", string("how it ended, where that is known")},
                         {"cr3", list(string("an address space"), "of a machine's process")},
                         {"threads", list(std::move(thread), "that ran")}},
                        {"pid", "name", "threads"});
  Json processor = object({{"processor", number("its number")},
                           {"branches", number("executed on it, those not taken left out")},
                           {"instructions", number("executed on it")}},
                          {"processor", "branches", "instructions"});
  return object(
      {{"file", string("the recording")},
       {"command", string("that recorded it")},
       {"source", one_of({"pt", "bts", "lbr", "none"}, "what the branches come from")},
       {"host", string("where it was recorded")},
       {"start_ns", number("of the recording's clock, where the times of all methods begin")},
       {"duration_ns", number("from there to the end")},
       {"has_time", flag("the trace has times")},
       {"instructions", number("of all threads")},
       {"branches", number("of all threads")},
       {"processes", list(std::move(process), "that ran something, in the order of appearance")},
       {"processors", list(std::move(processor), "that have a trace each, as of a machine")},
       {"losses", losses()},
       {"complete", flag("nothing was lost")},
       {"version", string("of this hodo")},
       {"changed", flag("the file has grown or was replaced since it was opened")},
       {"grown", flag("it has grown")},
       {"finished", flag("it was whole when it was opened: nobody was still recording into it")},
       {"growing", flag("somebody was, and what is answered is of what there was of it")},
       {"can", object({{"samples_only", flag("windows of a few branches, nothing between them")},
                       {"check", flag("findings can be asked for")},
                       {"indexed", flag("moments are found without decoding from the start")}})}},
      {"file", "source", "start_ns", "duration_ns", "has_time", "processes", "losses", "complete",
       "can"});
}

}  // namespace

namespace {

Result<Json> answer_reopen(Workspace& workspace, const Json&) {
  const bool changed = workspace.changed();
  if (changed) {
    if (Status done = workspace.reopen(); !done) return std::unexpected(done.error());
  }
  return Json{{"changed", changed}};
}

Json reopen_result() {
  using namespace schema;
  return object({{"changed", flag("the file had grown or was replaced: ask for everything again")}},
                {"changed"});
}

}  // namespace

Method reopen_method() {
  return {"reopen", "Opens a recording that has grown as it is now (info: changed).",
          schema::no_parameters, reopen_result, answer_reopen};
}

Method info_method() {
  return {"info", "What was recorded: processes and threads, how much they ran, what is missing.",
          schema::no_parameters, info_result, answer_info};
}

}  // namespace hodo::serve
