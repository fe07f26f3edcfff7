#include "hodo/ask/navigate.h"

#include <fmt/format.h>

#include <algorithm>

namespace hodo::ask {
namespace {

using Line = SourceLines::Line;

std::size_t index_of(StepKind kind) { return static_cast<std::size_t>(kind); }

// The steps of a scene with their lines.
class LineSteps {
 public:
  LineSteps(std::span<const Step> steps, std::size_t here, SourceLines& lines)
      : steps_(steps), here_(here), lines_(lines), line_(line(here)) {}

  // Calls deeper than `depth` are passed over.
  std::optional<Moment> after(std::size_t depth) {
    for (std::size_t i = here_ + 1; i < steps_.size(); ++i) {
      if (is_other(i, depth)) return steps_[i].moment;
    }
    return std::nullopt;
  }

  // The beginning of the line that was executed before this one.
  std::optional<Moment> before(std::size_t depth) {
    std::size_t i = here_;
    while (i-- > 0 && !is_other(i, depth)) {
    }
    if (i >= here_) return std::nullopt;
    const Line other = line(i);
    std::size_t first = i;
    while (i-- > 0) {
      if (steps_[i].depth > depth || line(i).line == 0) continue;
      if (!(line(i) == other)) return steps_[first].moment;
      first = i;
    }
    return steps_[first].moment;
  }

 private:
  Line line(std::size_t i) {
    return lines_.at(steps_[i].who.space, steps_[i].address, steps_[i].time);
  }
  bool is_other(std::size_t i, std::size_t depth) {
    if (steps_[i].depth > depth) return false;
    const Line there = line(i);
    return there.line != 0 && !(there == line_);
  }

  std::span<const Step> steps_;
  std::size_t here_;
  SourceLines& lines_;
  Line line_;
};

std::string why_none(const Scene& scene, bool forward) {
  if (forward && scene.ends) return "the thread's path has none behind";
  if (!forward && scene.before.size() == scene.moment.branch)
    return "the thread's path has none before";
  return fmt::format("within {} branches the thread comes to none", kStepReach);
}

}  // namespace

std::string_view name(StepKind kind) {
  constexpr std::array<std::string_view, kStepKinds> kNames{"insn", "line",   "over",
                                                            "call", "return", "out"};
  return kNames[index_of(kind)];
}

const SourceLines::Line& SourceLines::at(std::uint32_t space, std::uint64_t address,
                                         std::uint64_t time) {
  const Key key{space, names_.naming(space, time), address};
  if (auto it = known_.find(key); it != known_.end()) return it->second;
  if (known_.size() == kMostKept) known_.clear();
  Line& out = known_[key];
  const auto frames = session::source_of(names_.object(space, address, time));
  if (frames.empty() || frames[0].line == 0) return out;
  auto [it, fresh] = files_.try_emplace(frames[0].file, static_cast<std::uint32_t>(paths_.size()));
  if (fresh) paths_.push_back(frames[0].file);
  out = {it->second, frames[0].line};
  return out;
}

Neighbours neighbours_of(const Scene& scene, std::span<const Step> steps, SourceLines& lines) {
  Neighbours out;
  const auto set = [&](StepKind kind, const auto& before, const auto& after) {
    out.before[index_of(kind)] = before;
    out.after[index_of(kind)] = after;
  };
  set(StepKind::call, scene.call_before, scene.call_after);
  set(StepKind::ret, scene.return_before, scene.return_after);
  set(StepKind::out, scene.out_before, scene.out_after);
  const auto there = std::ranges::lower_bound(steps, scene.moment, {}, &Step::moment);
  const auto here = static_cast<std::size_t>(there - steps.begin());
  std::optional<Moment> before;
  std::optional<Moment> after;
  if (here > 0) before = steps[here - 1].moment;
  const bool stands = here < steps.size() && steps[here].moment == scene.moment;
  const std::size_t next = here + (stands ? 1 : 0);
  if (next < steps.size()) after = steps[next].moment;
  set(StepKind::insn, before, after);
  if (!stands) return out;
  LineSteps by_line(steps, here, lines);
  constexpr auto kAny = ~std::size_t{0};
  set(StepKind::line, by_line.before(kAny), by_line.after(kAny));
  const std::size_t depth = steps[here].depth;
  set(StepKind::over, by_line.before(depth), by_line.after(depth));
  return out;
}

Result<Moment> step_from(session::Session& session, const Moment& moment, StepKind kind,
                         bool forward, const session::ProgressFunction& progress,
                         const IndexedRecording* index) {
  constexpr std::uint64_t kEverywhere = ~std::uint64_t{0};
  auto scene = scene_at(session, moment,
                        {.before = kStepReach,
                         .after = kStepReach,
                         .reach = kind == StepKind::out ? kEverywhere : kStepReach,
                         .progress = progress,
                         .index = index});
  if (!scene) return std::unexpected(scene.error());
  Code code(session);
  SourceLines lines(session.names());
  const auto steps = steps_of(*scene, code, std::size_t{kStepReach} * 8);
  const Neighbours found = neighbours_of(*scene, steps, lines);
  const auto& there = (forward ? found.after : found.before)[index_of(kind)];
  if (there) return *there;
  return fail(ErrorCode::not_found,
              fmt::format("no step '{}' {} from {}: {}", name(kind), forward ? "forward" : "back",
                          to_string(moment), why_none(*scene, forward)));
}

Result<Moment> occurrence_from(session::Session& session, const Moment& moment,
                               const Wanted& wanted, bool forward,
                               const session::ProgressFunction& progress,
                               const IndexedRecording* index) {
  std::optional<Moment> found;
  Meant meant;
  Where where{.index = index};
  // A name may mean a function that is called elsewhere only.
  const bool one_meaning =
      wanted.kind == Wanted::Kind::line || wanted.kind == Wanted::Kind::address;
  const auto go_on = [&] { return !(meant.whole || one_meaning); };
  (forward ? where.from : where.to) = moment.branch;
  if (!forward) where.enough = [&found] { return found.has_value(); };
  auto outcome = each_occurrence(
      session, wanted, {.selection = only(moment.thread), .progress = progress},
      [&](const Moment& there, const session::Context&) {
        if (there.thread != moment.thread) return true;
        if (forward) {
          if (!(moment < there)) return true;
          if (!found) found = there;
          return go_on();
        }
        if (!(there < moment)) return go_on();
        found = there;
        return true;
      },
      meant, where);
  if (!outcome) return std::unexpected(outcome.error());
  if (meant.functions.size() > 1 && meant.exact == 1 && !wanted.exact) {
    // Not one of the copies that the compiler has made of it.
    Wanted itself = wanted;
    itself.exact = true;
    return occurrence_from(session, moment, itself, forward, progress, index);
  }
  if (meant.functions.size() > 1) {
    return std::unexpected(means_several(wanted.name, std::move(meant.functions)));
  }
  if (found) return *found;
  return fail(ErrorCode::not_found, fmt::format("'{}' is not executed by thread {} {} {}",
                                                wanted.name, to_string(moment.thread),
                                                forward ? "after" : "before", to_string(moment)));
}

}  // namespace hodo::ask
