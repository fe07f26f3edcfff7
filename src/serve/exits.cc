// What a program did that ended it with a status: all that runs behind it is the C library's.
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "hodo/serve/ends.h"
#include "hodo/session/names.h"

namespace hodo::serve {
namespace {

using Frames = std::vector<ask::OpenFrame>;

constexpr std::array<std::string_view, 4> kExits{"exit", "_exit", "_Exit", "quick_exit"};
// What calls main, and exit with what it returns: glibc's and musl's.
constexpr std::array<std::string_view, 2> kStarts{"__libc_start", "libc_start_main"};
constexpr std::size_t kNear = 8;  // branches from main's return to exit, at most

bool starts_main(const ask::OpenFrame& frame) {
  return std::ranges::any_of(kStarts,
                             [&](std::string_view name) { return frame.name.starts_with(name); });
}

// The outermost: handlers that run at the exit may call one again.
std::optional<std::size_t> exit_of(const ask::Scene& last) {
  for (std::size_t i = last.calls.size(); i-- > 0;) {
    const ask::OpenFrame& frame = last.calls[i];
    if (std::ranges::find(kExits, frame.name) == kExits.end()) continue;
    const bool here = frame.entered.thread == last.moment.thread;
    if (here && frame.how != analyze::CallEntry::first) return i;
  }
  return std::nullopt;
}

// The last of the library's own calls: err() and the like call exit for the program.
std::size_t outermost_of_file(const Frames& calls, std::size_t i) {
  std::size_t out = i;
  while (out + 1 < calls.size() && calls[out + 1].object == calls[i].object) ++out;
  return out + 1 == calls.size() ? i : out;  // one file has all: a static program
}

// At the return that `scene` stands behind but for the call of exit, if it is main's.
std::optional<ask::Moment> main_return(const session::Session& session, const ask::Scene& scene,
                                       bool from_main) {
  const std::size_t most = std::min(scene.before.size(), kNear);
  for (std::size_t behind = 1; behind <= most; ++behind) {
    const ask::Passed& passed = scene.before[scene.before.size() - behind];
    const Branch& branch = passed.branch;
    if (branch.kind == BranchKind::call || branch.kind == BranchKind::icall ||
        branch.kind == BranchKind::jmp || branch.kind == BranchKind::ijmp) {
      continue;
    }
    if (branch.kind != BranchKind::ret || branch.insns == 0) return std::nullopt;
    const auto place = session.names().place(passed.who.space, branch.from, branch.time);
    if (!from_main && place.symbol != "main") return std::nullopt;
    return ask::Moment{scene.moment.thread, scene.moment.branch - behind, branch.insns - 1};
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<Exit>> exit_asked_for(session::Session& session, const Ended& ended,
                                           const ask::Scene& last,
                                           const session::ProgressFunction& progress,
                                           const ask::IndexedRecording* index) {
  if (!ask::is_failure(ended.end)) return std::nullopt;
  const auto found = exit_of(last);
  if (!found) return std::nullopt;
  const auto at = [&](const ask::Moment& moment) {
    return last_scene(session, moment, progress, index);
  };
  const std::size_t outer = outermost_of_file(last.calls, *found);
  auto called = at(last.calls[*found].entered);
  if (!called) return std::unexpected(called.error());
  const std::span callers = std::span(last.calls).subspan(*found + 1);
  const std::size_t of_file = std::min(std::max<std::size_t>(outer - *found, 1), callers.size());
  const bool from_main = std::ranges::any_of(callers.first(of_file), starts_main);
  auto moment = main_return(session, *called, from_main);
  const bool returned = moment.has_value();
  if (!returned && !from_main) {
    if (outer != *found) called = at(last.calls[outer].entered);
    if (!called) return std::unexpected(called.error());
    moment = called->out_before;
  }
  if (!moment) return std::nullopt;
  auto scene = at(*moment);
  if (!scene) return std::unexpected(scene.error());
  return Exit{
      .main_returned = returned, .function = last.calls[*found].name, .scene = std::move(*scene)};
}

}  // namespace hodo::serve
