#include "makers.h"

#include <algorithm>
#include <ranges>

namespace hodo::check {

void Makers::move_to(session::Session& session) {
  wanted_.clear();
  // Other traces have no times that tell which system call it was.
  if (session.trace() != session::TraceKind::pt) return;
  for (const session::Grant& grant : session.regions()->grants()) {
    wanted_[grant.tid].push_back(grant.time);
  }
}

// Every return from the kernel has its time in the trace, and the call that of what was last
// before.
void Makers::see_return(const Step& step) {
  const auto found = wanted_.find(step.context.tid);
  if (found == wanted_.end() || !step.thread.system_call) return;
  const auto& times = found->second;
  auto at = std::ranges::lower_bound(times, step.thread.system_call->time);
  for (; at != times.end() && *at <= step.branch.time; ++at) {
    const auto [maker, fresh] = known_.try_emplace({step.context.tid, *at});
    if (fresh) maker->second = find_maker(step);
  }
}

// Of the callers the innermost that is not of the C library, which only passes on what it is asked
// for. So does code without a file: whoever made that made this, too.
Makers::Maker Makers::find_maker(const Step& step) const {
  const Branch& left = *step.thread.system_call;  // as things were then
  const auto end_at = [&](std::uint64_t address) {
    return locator_.end(step.context.space, address, left.time);
  };
  const auto file_of = [&](const End& end) {
    if (end.known() && is_libc(*end.module)) return std::string_view();
    return end.path.empty() ? locator_.maker(end) : end.path;
  };
  const End call = end_at(left.from);
  std::string_view path = file_of(call);
  for (const ShadowStack::Frame& frame : step.thread.stack.frames() | std::views::reverse) {
    if (!path.empty()) break;
    path = file_of(end_at(frame.address));
  }
  if (path.empty() && step.thread.stack.knows_all()) path = call.path;
  const bool attacked = step.thread.attack.number != 0 || step.thread.stack.is_astray();
  return {std::string(path), !path.empty() && !attacked};
}

std::string_view Makers::maker(const session::Grant& grant) const {
  const auto found = known_.find(grant);
  return found == known_.end() ? std::string_view() : found->second.path;
}

bool Makers::answers(const session::Grant& grant) const {
  const auto found = known_.find(grant);
  return found != known_.end() && found->second.answers;
}

}  // namespace hodo::check
