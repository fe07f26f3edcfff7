// Several stacks: which are left, and which is gone on with.
#include <algorithm>
#include <utility>

#include "behind_data.h"
#include "shadow_stack.h"

namespace hodo::check {
namespace {

constexpr std::size_t kMostParkedFrames = std::size_t{1} << 22;

}  // namespace

namespace {

// What makecontext, a coroutine library, or whoever left a stack can have put there. A function
// whose address is nowhere to be had is no coroutine's, and none begins by system().
bool begins_stack(PathFacts facts) {
  if ((facts & kUnjudged) != 0) return true;
  if ((facts & kToFunction) != 0) return (facts & (kToSensitive | kToUntaken)) == 0;
  return (facts & kToReturnSite) != 0 && (facts & kToUncalled) == 0;
}

}  // namespace

void ShadowStack::park() {
  std::size_t frames = 0;
  for (const Stack& s : parked_) frames += s.frames.size();
  while (!parked_.empty() && (parked_.size() >= kMostParked || frames > kMostParkedFrames)) {
    frames -= parked_.front().frames.size();
    parked_.erase(parked_.begin());
  }
  parked_.push_back(std::move(current_));
  reset(false);
}

void ShadowStack::take_up(std::vector<Stack>::iterator parked) {
  Stack next = std::move(*parked);
  parked_.erase(parked);
  park();
  current_ = std::move(next);
}

// Goes on with a stack that was left at `to`: the one that was left first of those, since such
// programs mostly take turns. Where `to` lies inside of a stack, what is above was another one.
bool ShadowStack::resume_stack(std::uint64_t to, PathFacts facts) {
  const auto fits = [to](const Stack& stack) {
    const auto& frames = stack.frames;
    return !frames.empty() && !frames.back().signal && frames.back().address == to;
  };
  const auto found = std::ranges::find_if(parked_, fits);
  if (found == parked_.end()) return false;
  const bool only = std::none_of(std::next(found), parked_.end(), fits);
  take_up(found);
  floor_ = current_.frames.size();
  if (!only || mistaken_ || (facts & (kShared | kMayStay)) != 0) guess(facts);
  pop();
  return true;
}

// The same of a stack that was left in a call with data behind it.
bool ShadowStack::resume_behind_gap(std::uint64_t to, PathFacts facts, const Landings& landings) {
  std::uint64_t last = 0;  // each is asked for once
  for (const Stack& stack : parked_) {
    if (stack.frames.empty() || stack.frames.back().signal) continue;
    const std::uint64_t address = stack.frames.back().address;
    if (address == last || to <= address || to - address > kWidestGap) continue;
    last = address;
    if (landings.is_behind_gap(address, to)) return resume_stack(address, facts);
  }
  return false;
}

// Where `to` lies inside of this stack, what is above was another one that began on top of it. The
// last call is the one that leaves, mostly from the same place: it is what is gone on in only where
// no other is.
bool ShadowStack::split_stack(std::uint64_t to, PathFacts facts) {
  const auto& frames = current_.frames;
  const auto fits = [to](const Frame& f) { return !f.signal && f.address == to; };
  const auto count = std::ranges::count_if(frames, fits);
  // Of a stack of which not all is known, who goes on is rather one that is not known.
  if (count == 0 || (count == 1 && fits(frames.back()) && !current_.whole)) return false;
  std::size_t i = frames.size() - 1;
  if (count > 1 && fits(frames[i])) --i;
  while (!fits(frames[i])) --i;
  leave_above(i + 1);
  cut(i);
  if (count > 1 || (facts & (kShared | kMayStay)) != 0) guess(facts);
  return true;
}

// What is above `depth` is another stack, which is left.
void ShadowStack::leave_above(std::size_t depth) {
  Stack below = current_;
  below.frames.resize(depth);
  below.labels.clear();
  current_.frames.erase(current_.frames.begin(),
                        current_.frames.begin() + static_cast<std::ptrdiff_t>(depth));
  current_.marks.clear();
  current_.planted.clear();
  current_.labels.clear();
  current_.choices.clear();
  current_.begun = current_.entry == depth;
  current_.guess = current_.entry = kNothing;
  current_.whole = false;
  park();
  current_ = std::move(below);
  floor_ = depth;
  cut(depth);
}

// Goes on where a signal interrupted some stack, by the context that its handler was given: the
// handler and what it called are over. The innermost handler of those that fit.
bool ShadowStack::resume_handled(std::uint64_t to) {
  const auto fits = [to](const Frame& f) { return f.signal && f.address == to; };
  const auto handles = [&](const Stack& stack) { return std::ranges::any_of(stack.frames, fits); };
  if (!handles(current_)) {
    const auto found = std::find_if(parked_.rbegin(), parked_.rend(), handles);
    if (found == parked_.rend()) return false;
    take_up(std::next(found).base());
  }
  std::size_t depth = current_.frames.size() - 1;
  while (!fits(current_.frames[depth])) --depth;
  cut(depth);
  return true;
}

// A handler whose last call was a switch, by a jump, ends where a switch leads back to it: of the
// stacks that wait so, the one that was interrupted at `to`, and of several that were the first.
bool ShadowStack::end_waiting_handler(std::uint64_t to, PathFacts facts) {
  const auto fits = [to](const Stack& stack) {
    const auto& frames = stack.frames;
    return !frames.empty() && frames.back().signal && frames.back().address == to;
  };
  exchanged_ = kNothing;
  const auto found = std::ranges::find_if(parked_, fits);
  if (found == parked_.end()) return false;
  const bool only = !fits(current_) && std::none_of(std::next(found), parked_.end(), fits);
  take_up(found);
  keep_marks_of_handler();
  pop();
  if (!only || mistaken_ || (facts & kShared) != 0) guess(facts);
  return true;
}

// Whether some handler may not have ended yet, on whatever stack: what a sigreturn needs.
bool ShadowStack::may_end_handler(PathFacts facts, const Landings* landings) const {
  const auto handles = [](const Stack& stack) {
    return std::ranges::any_of(stack.frames, &Frame::signal);
  };
  const bool all =
      current_.whole && landings != nullptr && landings->saw_all() && (facts & kShared) == 0;
  return !all || handles(current_) || std::ranges::any_of(parked_, handles);
}

ShadowStack::Verdict ShadowStack::switch_to(std::uint64_t to, PathFacts facts,
                                            const Landings* landings) {
  if (resume_stack(to, facts) || long_jump(to)) return std::nullopt;
  // libunwind's unwinder ends by a return, as its setcontext() does.
  if ((facts & kToLanding) != 0 && landings != nullptr && land(to, *landings)) return std::nullopt;
  if ((facts & kToFunction) == 0 && resume_handled(to)) return std::nullopt;
  if ((facts & kToReturnSite) != 0 && split_stack(to, facts)) return std::nullopt;
  if (landings != nullptr && resume_behind_gap(to, facts, *landings)) return std::nullopt;
  if ((facts & kToLabel) != 0 && landings != nullptr &&
      go_to_label(to, facts, *landings, ToLabel::by_return)) {
    return std::nullopt;
  }
  if ((facts & kToSigreturn) != 0 ? may_end_handler(facts, landings) : begins_stack(facts)) {
    park();
    current_.begun = (facts & (kToFunction | kShared)) != 0;
    return std::nullopt;
  }
  if ((facts & kToSigreturn) != 0) {
    return nowhere("changes the stack and returns to a sigreturn without a signal");
  }
  if ((facts & kToSensitive) != 0) {
    return nowhere("changes the stack and returns into a function that only calls should reach");
  }
  return nowhere("changes the stack and goes to a place where no other stack was left");
}

}  // namespace hodo::check
