#include "hodo/serve/scenes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hodo/analyze/function_name.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"

namespace hodo::serve {
namespace {

struct NamedStep {
  ask::StepKind kind;
  bool forward;
};

Result<NamedStep> step_named(const std::string& word) {
  const bool back = word.starts_with('-');
  for (std::size_t i = 0; i < ask::kStepKinds; ++i) {
    const auto kind = static_cast<ask::StepKind>(i);
    if (word.substr(back ? 1 : 0) == ask::name(kind)) return NamedStep{kind, !back};
  }
  return fail(ErrorCode::usage, fmt::format("--step '{}' is none of insn, line, over, call, "
                                            "return, out, or these with a - in front",
                                            word));
}

Result<ask::Moment> walk_on(session::Session& session, ask::Moment at, const SceneInput& input,
                            const ask::FindOptions& how) {
  for (const bool forward : {true, false}) {
    const std::string& wanted = forward ? input.next : input.previous;
    if (wanted.empty()) continue;
    auto there =
        ask::occurrence_from(session, at, wanted_by(wanted), forward, how.walk.progress, how.index);
    if (!there) return there;
    at = *there;
  }
  for (const std::string& word : input.steps) {
    auto step = step_named(word);
    if (!step) return std::unexpected(step.error());
    auto there =
        ask::step_from(session, at, step->kind, step->forward, how.walk.progress, how.index);
    if (!there) return there;
    at = *there;
  }
  return at;
}

// Where the other threads were.
Result<std::vector<ask::MomentInTime>> others(session::Session& session, const ask::Scene& scene,
                                              const ask::FindOptions& how) {
  std::vector<ask::MomentInTime> out;
  session::Clock clock = session.clock();
  // At a thread's beginning there is no branch before.
  const bool begins = scene.time == 0 && scene.before.empty() && !scene.after.empty();
  const std::uint64_t time = begins ? scene.after.front().branch.time : scene.time;
  if (session.queues().size() < 2 || time == 0 || scene.who.pid < 0) return out;
  auto all = ask::moments_at(session, clock.nanoseconds(time),
                             {.selection = {.pid = scene.who.pid}, .progress = how.walk.progress},
                             how.index);
  if (!all) return std::unexpected(all.error());
  for (ask::MomentInTime& other : *all) {
    if (other.moment.thread != scene.moment.thread) out.push_back(other);
  }
  return out;
}

}  // namespace

ask::Wanted wanted_by(const std::string& text) {
  for (const char* form : {"line:", "at:"}) {
    const bool could = *form == 'l' ? text.find(':') != text.npos && text.find("::") == text.npos
                                    : text.starts_with("0x") || text.find("+0x") != text.npos;
    auto spec = ask::parse_moment(form + text);
    if (!could || !spec) continue;
    return {.kind = *form == 'l' ? ask::Wanted::Kind::line : ask::Wanted::Kind::address,
            .name = spec->name,
            .value = spec->value};
  }
  return {.kind = ask::Wanted::Kind::call, .name = text};
}

Result<ask::Moment> moment_of(session::Session& session, const SceneInput& input,
                              const ask::FindOptions& how) {
  auto moment = ask::find_moment(session, input.moment, how);
  if (moment) moment = walk_on(session, *moment, input, how);
  return moment;
}

Result<FoundScene> scene_of(session::Session& session, const SceneInput& input,
                            const ask::FindOptions& options) {
  std::vector<session::LossLine> losses;
  ask::FindOptions how = options;
  how.losses = &losses;
  auto moment = moment_of(session, input, how);
  if (!moment) return std::unexpected(moment.error());
  // So many more for what leads to steps and calls beyond what is shown.
  constexpr std::size_t kMore = 256;
  auto scene = ask::scene_at(session, *moment,
                             {.before = input.around + kMore,
                              .after = input.around + kMore,
                              .progress = how.walk.progress,
                              .index = how.index,
                              .inherited = true});
  if (!scene) return std::unexpected(scene.error());
  ask::add_losses(scene->losses, losses);
  auto elsewhere = others(session, *scene, how);
  if (!elsewhere) return std::unexpected(elsewhere.error());
  FoundScene out{.scene = std::move(*scene), .others = std::move(*elsewhere), .unknown = {}};
  const auto spec = ask::parse_moment(input.moment);
  if (spec && spec->kind == ask::MomentSpec::Kind::call) {
    out.unknown = analyze::unknown_inlined(session.names());
  }
  return out;
}

nlohmann::ordered_json scene_json(session::Session& session, const FoundScene& found,
                                  std::size_t around) {
  view::SceneView what(session, found.scene, around);
  what.others = found.others;
  auto out = view::scene_json(what);
  if (!found.unknown.empty()) out["unknown"] = found.unknown;
  out["losses"] = view::losses_json(found.scene.losses, session.clock());
  view::add_growing(out, session);
  return out;
}

}  // namespace hodo::serve
