#include "pasts.h"

#include <algorithm>

namespace hodo::check {

void Pasts::move_to(session::Session& session) {
  session_ = &session;
  forks_ = session.regions()->forks();
}

Life Pasts::life(std::uint32_t space) const {
  const session::Facts* facts = session_->facts();
  if (facts == nullptr || space >= facts->processes.size()) return {-1, space};
  const session::Process& process = facts->processes[space];
  return {process.pid, process.start};
}

std::optional<std::uint32_t> Pasts::space(const Life& life) const {
  const session::Facts* facts = session_->facts();
  if (facts == nullptr) return static_cast<std::uint32_t>(life.second);
  const auto& all = facts->processes;
  const auto found = std::ranges::find_if(all, [&](const session::Process& process) {
    return process.pid == life.first && process.start == life.second;
  });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - all.begin());
}

void Pasts::add_call(std::uint32_t space, std::uint64_t next) {
  Past& past = of(space);
  past.returned.insert(next);
  if (next == 0) past.whole = false;
}

bool Pasts::has_called(std::uint32_t space, std::uint64_t next) {
  for (std::optional<Life> at = life(space); at; at = pasts_[*at].parent) {
    if (pasts_[*at].returned.contains(next)) return true;
  }
  return false;
}

void Pasts::add_switch(std::uint32_t space, std::uint64_t from) {
  auto& switches = of(space).switches;
  if (switches.size() < kMostSwitches) switches.insert(from);
}

bool Pasts::has_switched(std::uint32_t space, const std::function<bool(std::uint64_t)>& fits) {
  for (std::optional<Life> at = life(space); at; at = pasts_[*at].parent) {
    const auto& switches = pasts_[*at].switches;
    if (switches.size() == kMostSwitches || std::ranges::any_of(switches, fits)) return true;
  }
  return false;
}

void Pasts::see(std::uint32_t space, std::uint64_t time) {
  std::uint64_t& seen = of(space).seen;
  seen = std::max(seen, time);
}

// A row of forks from the same place is kept once.
void Pasts::keep_for_children(const Step& step) {
  Past& own = of(step.context.space);
  const ShadowStack& stack = step.thread.stack;
  const auto same = [&](const ForkCall& call) {
    return call.stack.is_away_from(step.edge.next) && call.stack.is_like(stack);
  };
  if (std::ranges::any_of(own.forks, same)) return;
  own.forgot |= own.forks.size() == kMostForkCalls;
  if (!own.forgot) own.forks.push_back({step.branch.time, stack});
}

// When the kernel made the child, nothing says: FORK has the time at which the child was met, and
// BTS records have none. So only where all system calls that it may come from had the same calls
// open.
void Pasts::begin_as_child(const Step& step) {
  const std::uint32_t space = step.context.space;
  const auto fork = std::ranges::find(forks_, space, &session::Fork::child);
  if (fork == forks_.end() || step.thread.stack.depth() != 0) return;
  const Past& parent = of(fork->parent);
  if (parent.forgot || parent.seen < fork->time) return;
  const bool timed = session_->trace() == session::TraceKind::pt;
  const ShadowStack* found = nullptr;
  for (const ForkCall& call : parent.forks) {
    if ((timed && call.time > fork->time) || !call.stack.is_away_from(step.branch.to)) continue;
    if (found != nullptr && !found->is_like(call.stack)) return;
    found = &call.stack;
  }
  if (found == nullptr) return;
  step.thread.stack = *found;
  Past& own = of(space);
  own.parent = life(fork->parent);
  own.whole = parent.whole;
}

}  // namespace hodo::check
