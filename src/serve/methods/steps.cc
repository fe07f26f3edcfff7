// The deepest level of the timeline: instructions one by one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hodo/ask/code.h"
#include "hodo/ask/navigate.h"
#include "hodo/ask/scene.h"
#include "hodo/view/losses.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kMostSteps = 1024;

// Finds the moment before an instruction, by its number on the thread's path.
class Counter final : public ask::ThreadSink {
 public:
  Counter(const ask::ThreadId& thread, std::uint64_t wanted) : thread_(thread), wanted_(wanted) {}
  // As if the branches before a segment had come.
  void begin_at(const ask::Segment& segment) {
    branch_ = segment.branches;
    ran_ = segment.calls.clock.instructions;
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    if (ask::thread_of(who) != thread_) return true;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) {
        since_ += branch.insns;
        continue;
      }
      if (ran_ + since_ + branch.insns > wanted_) return false;
      ran_ += since_ + branch.insns;
      since_ = 0;
      branch_ = first++;
    }
    return true;
  }
  ask::Moment moment() const { return {thread_, branch_, wanted_ - ran_}; }

 private:
  ask::ThreadId thread_;
  std::uint64_t wanted_;
  std::uint64_t branch_ = 0, ran_ = 0;
  std::uint64_t since_ = 0;  // the last branch that was taken
};

// The last segment of the thread that begins before so many instructions; its first one at least.
std::optional<std::size_t> segment_before(const ask::IndexedRecording& index,
                                          const ask::ThreadId& thread, std::uint64_t place) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < index.index.segments().size(); ++i) {
    const ask::Segment& segment = index.index.segments()[i];
    if (segment.thread != thread) continue;
    if (!found || segment.calls.clock.instructions <= place) found = i;
  }
  return found;
}

Result<session::Outcome> count_to(Workspace& workspace, const ask::ThreadId& thread,
                                  std::uint64_t place, Counter& counter) {
  if (const ask::IndexedRecording* index = workspace.index()) {
    if (const auto begin = segment_before(*index, thread, place)) {
      counter.begin_at(index->index.segments()[*begin]);
      return ask::walk_from(*index, *begin, counter);
    }
  }
  return ask::walk(workspace.session(), workspace.walk(ask::only(thread)), counter);
}

Result<ask::Moment> moment_at(Workspace& workspace, const ask::ThreadId& thread,
                              std::uint64_t place) {
  Counter counter(thread, place);
  const auto outcome = count_to(workspace, thread, place, counter);
  if (!outcome) return std::unexpected(outcome.error());
  return counter.moment();
}

Json place_json(ask::SourceLines& lines, const ask::Step& step) {
  Json out = Json::object();
  const auto line = lines.at(step.who.space, step.address, step.time);
  if (line.line != 0) {
    out["file"] = lines.path(line);
    out["line"] = line.line;
  }
  return out;
}

Result<Json> answer_steps(Workspace& workspace, const Json& params) {
  auto thread = thread_named(text_in(params, "thread"));
  if (!thread) return std::unexpected(thread.error());
  const std::uint64_t from = number_in(params, "from", 0), to = number_in(params, "to", 0);
  if (to < from) return fail(ErrorCode::usage, "params.to lies before params.from");
  auto begin = moment_at(workspace, *thread, from);
  if (!begin) return std::unexpected(begin.error());
  session::Session& session = workspace.session();
  const std::size_t count = std::min(to - from, kMostSteps);
  const ask::SceneOptions how{.before = 1,
                              .after = count + 1,
                              .reach = 1,
                              .progress = workspace.walk().progress,
                              .index = workspace.index()};
  auto scene = ask::scene_at(session, *begin, how);
  if (!scene) return std::unexpected(scene.error());
  ask::Code code(session);
  ask::SourceLines lines(session.names());
  Json steps = Json::array();
  for (const ask::Step& step : ask::steps_of(*scene, code, count)) {
    if (step.moment < *begin || !step.executed || steps.size() == count) continue;
    Json one = place_json(lines, step);
    one["moment"] = ask::to_string(step.moment);
    one["address"] = fmt::format("{:#x}", step.address);
    one["text"] = code.disassemble(step.who.space, step.address, step.time);
    steps.push_back(std::move(one));
  }
  return Json{{"thread", ask::to_string(*thread)},
              {"from", from},
              {"steps", std::move(steps)},
              {"losses", view::losses_json(scene->losses, session.clock())}};
}

Json steps_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"thread", thread()},
       {"from", real("from this instruction of the thread on, the first is 0")},
       {"to", real("up to this one, at most 1024")}},
      {"thread", "from", "to"});
}

Json steps_result() {
  using namespace schema;
  Json step = object({{"moment", moment("before it")},
                      {"address", string("of it")},
                      {"text", string("its disassembly")},
                      {"file", string("of its source line, where that is known")},
                      {"line", number("of its source")}},
                     {"moment", "address", "text"});
  return object({{"thread", thread()},
                 {"from", number("as asked for")},
                 {"steps", list(std::move(step), "in order, as far as the code is known")},
                 {"losses", losses()}},
                {"thread", "from", "steps", "losses"});
}

}  // namespace

Method steps_method() {
  return {"steps", "The instructions of a short part of a thread's path, one by one.",
          steps_parameters, steps_result, answer_steps};
}

}  // namespace hodo::serve
