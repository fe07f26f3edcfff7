// Moments: what was written for one, and what there is to see at it.
#include <algorithm>

#include "hodo/serve/scenes.h"
#include "hodo/view/losses.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

Result<SceneInput> scene_input(const Json& params) {
  SceneInput out{.moment = text_in(params, "at"),
                 .next = text_in(params, "next"),
                 .previous = text_in(params, "previous"),
                 .around = std::max<std::size_t>(1, number_in(params, "around", 8))};
  if (params.contains("steps")) {
    for (const Json& step : params["steps"]) out.steps.push_back(step.get<std::string>());
  }
  return out;
}

Result<ask::FindOptions> find_in(Workspace& workspace, const Json& params) {
  auto selection = selection_in(workspace, params);
  if (!selection) return std::unexpected(selection.error());
  return workspace.find(*selection);
}

Result<Json> answer_moment(Workspace& workspace, const Json& params) {
  auto input = scene_input(params);
  auto how = find_in(workspace, params);
  if (!how) return std::unexpected(how.error());
  std::vector<session::LossLine> losses;
  how->losses = &losses;
  auto moment = moment_of(workspace.session(), *input, *how);
  if (!moment) return std::unexpected(moment.error());
  auto scene = ask::scene_at(
      workspace.session(), *moment,
      {.before = 1, .after = 1, .reach = 1, .progress = how->walk.progress, .index = how->index});
  if (!scene) return std::unexpected(scene.error());
  session::Clock clock = workspace.session().clock();
  const std::uint64_t time = clock.nanoseconds(scene->time);
  Json out{{"moment", ask::to_string(*moment)}, {"thread", ask::to_string(moment->thread)}};
  out["time_ns"] = time == 0 ? Json(nullptr) : Json(time - std::min(time, workspace.start()));
  out["ran"] = scene->ran;
  out["losses"] = view::losses_json(losses, clock);
  return out;
}

Result<Json> answer_scene(Workspace& workspace, const Json& params) {
  auto input = scene_input(params);
  auto how = find_in(workspace, params);
  if (!how) return std::unexpected(how.error());
  auto found = scene_of(workspace.session(), *input, *how);
  if (!found) return std::unexpected(found.error());
  return scene_json(workspace.session(), *found, input->around);
}

Json with_moment(Json more) {
  using namespace schema;
  Json out = parameters(
      {{"at", moment("any form that hodo show takes: 4242:1700+3, a time, crash, start, end, "
                     "finding:3, call:parse#17, line:foo.cc:42#2, at:0x401136")},
       {"thread", thread()},
       {"pid", pid()},
       {"next", string("then on to where the thread executes this function, FILE:LINE or address")},
       {"previous", string("then back to where it executed this last")},
       {"steps", list(string("insn, line, over, call, return or out; back with a - in front"),
                      "then these")}},
      {"at"});
  for (const auto& [name, what] : more.items()) out["properties"][name] = what;
  return out;
}

Json moment_parameters() { return with_moment(Json::object()); }
Json scene_parameters() {
  return with_moment(
      {{"around",
        schema::number("branches, instructions and lines on either side (8)", 1, kMostAround)}});
}

Json moment_result() {
  using namespace schema;
  return object({{"moment", moment("as THREAD:BRANCH+INSTRUCTION")},
                 {"thread", thread()},
                 {"time_ns", optional(number("of the branch before; null: unknown"))},
                 {"ran", number("instructions of the thread before it")},
                 {"losses", losses()}},
                {"moment", "thread", "time_ns", "ran", "losses"});
}

Json scene_result() {
  using namespace schema;
  return object(
      {{"moment", moment("where this is")},
       {"pid", number("the process")},
       {"tid", number("the thread")},
       {"time", optional(number("of the branch before, the recording's clock"))},
       {"ran", number("instructions of the thread before it")},
       {"stands_at", any("the next instruction's place; null: not known")},
       {"instruction", string("its disassembly")},
       {"goes_round", flag("the code comes back here without a packet: how often it did, and "
                           "what it called on the way, is not in the trace")},
       {"calls", list(any(),
                      "open ones, innermost first; frames, where calls were inlined at its "
                      "line: these, innermost first, and the function itself")},
       {"calls_left_out",
        object({{"behind", number("how many calls stand before them")},
                {"count", number("calls between the innermost and the outermost")}},
               {"behind", "count"})},
       {"lost_before", optional(number("the branch before which the path was lost last"))},
       {"before", list(any(), "branches, oldest first")},
       {"after", list(any(), "branches that follow")},
       {"instructions", list(any(),
                             "around it, in the order in which the path came to them: moment, "
                             "at, text; executed: false, or null where the path is lost")},
       {"source", any("file, line, and lines around it: number, text, whether one ran just here; "
                      "newer: the file was written to after the program; null: not known")},
       {"steps", any("moments where single steps lead, back and forward")},
       {"other_threads", list(any(), "where the process's other threads were")},
       {"unknown", string("of calls that were inlined, where one was counted to: what is missing "
                          "to know them")},
       {"growing", growing()},
       {"losses", losses()}},
      {"moment", "calls", "before", "after", "steps", "losses"});
}

}  // namespace

Method moment_method() {
  return {"moment", "The moment that is meant by what somebody wrote for one.", moment_parameters,
          moment_result, answer_moment};
}

Method scene_method() {
  return {
      "scene",
      "What there is at a moment: open calls, branches and code around it, where steps lead; as "
      "hodo show --json.",
      scene_parameters, scene_result, answer_scene};
}

}  // namespace hodo::serve
