// What lies between two moments, as a part of the timeline.
#include <algorithm>

#include "hodo/ask/scene.h"
#include "hodo/serve/asking.h"
#include "methods.h"
#include "overview.h"
#include "schema.h"

namespace hodo::serve {
namespace {

// How many instructions the thread of a lane had executed with its branch `number`.
Result<std::uint64_t> ran_until(Workspace& workspace, const ThreadTotal& total,
                                std::uint64_t number, const ask::FindOptions& how) {
  if (number == 0) return 0;
  if (number >= total.branches) return total.instructions;
  auto scene = ask::scene_at(
      workspace.session(), {total.thread, number, 0},
      {.before = 1, .after = 1, .reach = 1, .progress = how.walk.progress, .index = how.index});
  if (!scene) return std::unexpected(scene.error());
  return scene->ran;
}

// Of one thread: by its instructions.
Result<Json> on_thread(Workspace& workspace, const ask::Window& window,
                       const ask::FindOptions& how) {
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  const auto lane = std::ranges::find((*overview)->lanes, *window.thread,
                                      [](const Lane& one) { return one.total.thread; });
  if (lane == (*overview)->lanes.end()) {
    return fail(ErrorCode::not_found, "thread " + ask::to_string(*window.thread) + " ran nothing");
  }
  auto from = ran_until(workspace, lane->total, window.from, how);
  if (!from) return std::unexpected(from.error());
  auto to = ran_until(workspace, lane->total, window.to, how);
  if (!to) return std::unexpected(to.error());
  return Json{{"axis", "instructions"},
              {"thread", ask::to_string(*window.thread)},
              {"from", *from},
              {"to", std::max(*from, *to)}};
}

// Of all threads.
Result<Json> in_time(Workspace& workspace, const ask::Window& window) {
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  std::uint64_t last = 0;
  for (const Lane& lane : (*overview)->lanes) last = std::max(last, lane.total.last_time);
  if (last == 0) {
    return fail(ErrorCode::not_found,
                "the recording has no time; remedy: name moments in another way");
  }
  const std::uint64_t start = workspace.start();
  const std::uint64_t from = std::clamp(window.from_time, start, last) - start;
  const std::uint64_t to = std::clamp(window.to_time, start, last) - start;
  return Json{{"axis", "time"}, {"from", from}, {"to", std::max(from, to)}};
}

Result<Json> answer_part(Workspace& workspace, const Json& params) {
  const WindowInput input{.at = {}, .from = text_in(params, "from"), .to = text_in(params, "to")};
  const ask::FindOptions how = workspace.find();
  auto window = window_of(workspace.session(), input, how);
  if (!window) return std::unexpected(window.error());
  if (window->thread) {
    if (window->to < window->from) return fail(ErrorCode::usage, "--to lies before --from");
    return on_thread(workspace, *window, how);
  }
  if (window->to_time < window->from_time) {
    return fail(ErrorCode::usage, "--to lies before --from");
  }
  return in_time(workspace, *window);
}

Json part_parameters() {
  using namespace schema;
  return schema::parameters({{"from", moment("where it begins (where the path does)")},
                             {"to", moment("where it ends (where the path does)")}});
}

Json part_result() {
  using namespace schema;
  return object({{"axis", one_of({"time", "instructions"}, "what from and to count")},
                 {"thread", string("whose instructions they are")},
                 {"from", number("nanoseconds since the recording's first time, or instructions")},
                 {"to", number("the same")}},
                {"axis", "from", "to"});
}

}  // namespace

Method part_method() {
  return {"part", "Which part of the timeline lies between two moments, or two times.",
          part_parameters, part_result, answer_part};
}

}  // namespace hodo::serve
