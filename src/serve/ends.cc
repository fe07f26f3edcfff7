#include "hodo/serve/ends.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "hodo/ask/calls.h"
#include "hodo/serve/asking.h"
#include "hodo/serve/method.h"
#include "hodo/symbol/symbol_table.h"
#include "hodo/view/moments.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kTail = 1024;  // branches before the end that are read
// By the first, of the Itanium ABI, C++, Rust, Ada, D and Objective-C throw; OCaml by the others.
constexpr std::array kRaises{"_Unwind_RaiseException", "caml_raise_exception", "caml_raise_exn",
                             "stg_raisezh"};
constexpr std::size_t kRecent = 8;  // exceptions that are looked at: the last of each kind

Json end_json(const Ended& ended) {
  const session::ProcessEnd& end = ended.end;
  Json out{{"pid", end.pid}, {"comm", end.comm}};
  if (ended.alone) out["alone"] = true;
  if (end.exit_status >= 0) out["exit_status"] = end.exit_status;
  if (end.signal != 0) out["signal"] = end.signal;
  if (end.tid != 0) out["tid"] = end.tid;
  if (end.fault) out["fault"] = view::fault_json(*end.fault);
  out["ended"] = end_words(ended);
  if (ended.runs) out["runs"] = true;
  out["threads"] = Json::array();
  return out;
}

// How processes ended is written when the recording ends, when they did with their last record.
bool still_runs(const session::Facts* facts, const session::Context& who) {
  return facts != nullptr && facts->growing && who.space < facts->processes.size() &&
         facts->processes[who.space].end == session::kForever;
}

}  // namespace

std::vector<Ended> ended_processes(const session::Session& session,
                                   std::span<const ask::LastMoment> lasts, std::int32_t pid) {
  std::vector<Ended> out;
  for (const session::ProcessEnd& end : ends_of(session)) {
    if (pid < 0 || pid == end.pid) out.push_back({.end = end});
  }
  const session::Facts* const facts = session.facts();
  if (facts != nullptr) {
    for (const session::ProcessEnd& end : facts->thread_ends) {
      if (pid >= 0 && pid != end.pid) continue;
      out.push_back({.end = end, .alone = true});
      const auto process = std::ranges::find(facts->processes, end.pid, &session::Process::pid);
      if (process != facts->processes.end()) out.back().end.comm = process->comm;
    }
  }
  if (std::ranges::all_of(out, &Ended::alone)) {
    for (const ask::LastMoment& last : lasts) {
      auto it = std::ranges::find(out, last.who.pid, [](const Ended& e) { return e.end.pid; });
      if (it == out.end()) {
        it = out.insert(
            out.end(),
            {.end = {.pid = last.who.pid}, .known = false, .runs = still_runs(facts, last.who)});
      }
    }
  }
  for (Ended& ended : out) {
    if (ended.known && ended.end.exit_status >= 0) {
      const ask::LastMoment* const exits =
          ask::is_failure(ended.end) ? ask::exiting_thread(lasts, ended.end) : nullptr;
      if (exits != nullptr) ended.threads.push_back(*exits);
      continue;
    }
    for (const ask::LastMoment& last : lasts) {
      const bool took = ended.end.tid == 0 || ended.end.tid == last.who.tid;
      if (last.who.pid == ended.end.pid && took) ended.threads.push_back(last);
    }
    // The moment `crash` is the first one's.
    std::ranges::stable_sort(ended.threads, std::greater(),
                             [](const ask::LastMoment& last) { return last.last.time; });
  }
  const auto rank = [](const Ended& e) {
    return ask::is_crash(e.end) ? 0 : e.runs ? 1 : e.threads.empty() ? 3 : 2;
  };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

std::string end_words(const Ended& ended) {
  if (ended.alone) {
    return view::end_words(ended.end) +
           ", alone: a filter of system calls (seccomp) asked for that";
  }
  if (ended.runs) return "has not ended yet";
  return ended.known ? view::end_words(ended.end) : "how it ended is not in the recording";
}

Result<ask::Scene> last_scene(session::Session& session, const ask::Moment& moment,
                              const session::ProgressFunction& progress,
                              const ask::IndexedRecording* index) {
  return ask::scene_at(session, moment,
                       {.before = kTail,
                        .after = 2,
                        .reach = 2,
                        .progress = progress,
                        .index = index,
                        .inherited = true});
}

namespace {

// Whether a file that ran has it: most programs throw nothing, and need not be decoded for that.
bool is_there(const session::Session& session, std::string_view function) {
  return std::ranges::any_of(session.names().tables(), [&](const symbol::SymbolTable* table) {
    return !table->named(function).empty();
  });
}

// What a thread has raised, in order, as far as it is looked at.
Result<std::vector<ask::CallRow>> raised_by(session::Session& session, const ask::ThreadId& thread,
                                            const session::ProgressFunction& progress,
                                            const ask::IndexedRecording* index) {
  std::vector<ask::CallRow> out;
  for (const char* name : kRaises) {
    if (!is_there(session, name)) continue;
    auto list = ask::list_calls(session, name,
                                {.walk = {.selection = ask::only(thread), .progress = progress},
                                 .order = ask::CallOrder::latest,
                                 .most = kRecent,
                                 .index = index,
                                 .inlined = false});
    if (!list && list.error().code == ErrorCode::not_found) continue;
    if (!list) return std::unexpected(list.error());
    out.insert(out.end(), list->rows.begin(), list->rows.end());
  }
  std::ranges::sort(out, {}, [](const ask::CallRow& row) { return row.at.branch; });
  if (out.size() > kRecent) out.erase(out.begin(), out.end() - std::ptrdiff_t{kRecent});
  return out;
}

}  // namespace

Result<std::optional<ask::Scene>> last_exception(session::Session& session, const Ended& ended,
                                                 const session::ProgressFunction& progress,
                                                 const ask::IndexedRecording* index) {
  if (!ask::is_failure(ended.end) || ended.threads.empty()) return std::nullopt;
  const auto rows = raised_by(session, ended.threads.front().moment.thread, progress, index);
  if (!rows) return std::unexpected(rows.error());
  const auto at = [&](const ask::Moment& moment) {
    return ask::scene_at(
        session, moment,
        {.after = 2, .reach = 2, .progress = progress, .index = index, .inherited = true});
  };
  std::optional<ask::Moment> found;
  std::size_t least = 0;
  for (const ask::CallRow& row : *rows) {
    std::size_t left = 0;
    if (row.outcome == ask::CallRow::Outcome::skipped) {
      auto landed = at(row.until);
      if (!landed) return std::unexpected(landed.error());
      left = landed->calls.size();
    }
    if (found && left > least) continue;
    found = row.at;
    least = left;
  }
  if (!found) return std::nullopt;
  auto scene = at(*found);
  if (!scene) return std::unexpected(scene.error());
  return std::move(*scene);
}

Result<Json> ends_json(session::Session& session, std::span<const Ended> all, std::size_t around,
                       const session::ProgressFunction& progress,
                       const ask::IndexedRecording* index) {
  Json out{{"processes", Json::array()}};
  std::size_t shown = 0;
  for (const Ended& ended : all) {
    Json process = end_json(ended);
    for (const ask::LastMoment& last : ended.threads) {
      if (shown++ >= kMostLastScenes) continue;
      auto scene = last_scene(session, last.moment, progress, index);
      if (!scene) return std::unexpected(scene.error());
      view::SceneView what(session, *scene, around);
      process["threads"].push_back(view::scene_json(what));
      const auto asked = exit_asked_for(session, ended, *scene, progress, index);
      if (!asked) return std::unexpected(asked.error());
      if (!*asked) continue;
      view::SceneView there(session, (*asked)->scene, around);
      process[(*asked)->main_returned ? "main_returned" : "exit_called"] = view::scene_json(there);
    }
    if (shown <= kMostLastScenes) {
      auto scene = last_exception(session, ended, progress, index);
      if (!scene) return std::unexpected(scene.error());
      if (*scene) {
        view::SceneView what(session, **scene, around);
        process["last_exception"] = view::scene_json(what);
      }
    }
    out["processes"].push_back(std::move(process));
  }
  if (shown > kMostLastScenes) out["threads_left_out"] = shown - kMostLastScenes;
  return out;
}

}  // namespace hodo::serve
