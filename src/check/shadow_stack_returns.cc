// What a return says of the calls that are open.
#include <algorithm>
#include <ranges>
#include <utility>

#include "behind_data.h"
#include "shadow_stack.h"

namespace hodo::check {
namespace {

constexpr std::size_t kMostMarks = std::size_t{1} << 16;
// Returns that nothing explains, until a stack is given up: longer than any chain of interest.
constexpr unsigned kMostAstray = 64;

}  // namespace

ShadowStack::Verdict ShadowStack::ret(std::uint64_t to, PathFacts facts, const Landings* landings) {
  const bool leaves = std::exchange(unsettled_, false) || (facts & kFromSwitch) != 0;
  if (leaves && !parked_.empty() && resume_stack(to, facts)) return std::nullopt;
  if (!current_.frames.empty()) {
    const Frame& top = current_.frames.back();
    if (!top.signal && top.address == to) {
      if (top.twice || (facts & kToSetjmp) != 0) {
        return_twice(to);
      } else if (current_.frames.size() == current_.entry && resume_stack(to, facts)) {
        // A function on top of another stack, which was left at the same place as this one.
        return std::nullopt;
      } else {
        pop();
        if ((facts & kMayStay) != 0) guess(facts);
      }
      if (current_.astray != 0) comes_back(current_.frames.size());
      return std::nullopt;
    }
    if (top.signal && (facts & kToSigreturn) != 0) {
      const std::size_t depth = current_.frames.size();
      if (leaves) exchanged_ = depth;
      if (!leaves && depth <= exchanged_) exchanged_ = kNothing;
      return std::nullopt;
    }
    if (top.supposed && leave_supposed(to)) return std::nullopt;
  }
  return mismatch(to, leaves ? facts | kFromSwitch : facts, landings);
}

// It was no handler that a sigreturn went to, but a function that takes the place of what was
// interrupted, and returns for it; or one that the handler called there, by a return address of its
// own making.
bool ShadowStack::leave_supposed(std::uint64_t to) {
  const auto& frames = current_.frames;
  const std::size_t depth = frames.size();
  const bool called = frames.back().address == to;
  const bool instead = depth > 1 && !frames[depth - 2].signal && frames[depth - 2].address == to;
  if (!called && !instead) return false;
  pop();
  if (!called) pop();
  return true;
}

bool ShadowStack::follow(std::span<const std::uint64_t> returned,
                         std::span<const std::uint64_t> called) {
  const auto& frames = current_.frames;
  if (unsettled_ || current_.astray != 0) return false;
  if (returned.size() > frames.size()) {
    if (!is_nothing_known_below()) return false;
    returned = returned.first(frames.size());
  }
  const std::size_t depth = frames.size() - returned.size();
  if (current_.entry != kNothing && depth < current_.entry && !parked_.empty()) return false;
  if (!current_.choices.empty() && depth < current_.choices.back().at) return false;
  if (frames.size() > kDeepest / 2) return false;  // calls that were closed again may reach deeper
  const Frame* top = frames.data() + frames.size();
  for (const std::uint64_t address : returned) {
    --top;
    if (top->signal || top->twice || top->address != address) return false;
  }
  if (depth >= floor_) {
    cut(depth);
  } else {
    while (frames.size() != depth) pop();
  }
  for (const std::uint64_t address : called) current_.frames.push_back({.address = address});
  return true;
}

// So that a plain return behind the last call that is known finds nothing, and changes nothing.
bool ShadowStack::is_nothing_known_below() const {
  return !current_.whole && current_.choices.empty() && floor_ == 0 && consumed_.empty();
}

// Setjmps of the function that returns so are its caller's.
void ShadowStack::return_twice(std::uint64_t to) {
  std::vector<std::uint64_t> inner;
  for (const Mark& mark : current_.marks | std::views::reverse) {
    if (mark.depth != current_.frames.size()) break;
    if (mark.through == 0) inner.push_back(mark.address);
  }
  pop();
  remember(to);
  for (const std::uint64_t address : inner) remember(address, to);
}

void ShadowStack::remember(std::uint64_t address, std::uint64_t through) {
  const Mark mark{address, current_.frames.size(), through};
  auto& marks = current_.marks;
  for (const Mark& known : marks | std::views::reverse) {
    if (known.depth != mark.depth) break;
    if (known.address == mark.address && known.through == mark.through) return;
  }
  if (marks.size() < kMostMarks) {
    marks.push_back(mark);
  } else {
    current_.vague = true;
  }
}

ShadowStack::Verdict ShadowStack::mismatch(std::uint64_t to, PathFacts facts,
                                           const Landings* landings) {
  if (landings != nullptr && skip(to, *landings)) return std::nullopt;
  constexpr PathFacts kMayBeJumpedTo = kToFunction | kToLabel | kUnjudged;
  if ((facts & (kFromPushed | kFromStored)) != 0 && (facts & kMayBeJumpedTo) != 0) {
    const bool replaces = (facts & kFromStored) != 0 && !current_.frames.empty();
    if (replaces) pop();
    return std::nullopt;
  }
  if ((facts & kFromPushed) != 0 && return_to_kept(to, facts)) return std::nullopt;
  if (take_alternative(to, facts) || return_behind_label(to)) return std::nullopt;
  if (landings != nullptr && return_to_planted(to, facts, *landings)) return std::nullopt;
  if ((facts & kResumes) != 0 && resume_interrupted(to)) return std::nullopt;
  if ((facts & kFromSwitch) != 0) return switch_to(to, facts, landings);
  if (take_other_stack(to)) return std::nullopt;
  if (current_.frames.empty() && !current_.whole) return at_unknown_depth(facts, landings);
  const bool at_entry = current_.frames.size() == current_.entry;
  if (at_entry && resume_stack(to, facts)) return std::nullopt;
  // The function that a stack began with ends.
  const bool ends =
      at_entry && (facts & kToFunction) != 0 && (facts & (kToSensitive | kToUntaken)) == 0;
  if (ends) {
    current_.entry = kNothing;
    return std::nullopt;
  }
  // Or another stack goes on that was left unseen.
  if (at_entry && (facts & kToReturnSite) != 0 && landings != nullptr && !landings->saw_all()) {
    lose();
    return std::nullopt;
  }
  if ((facts & kUnjudged) != 0) {
    lose();
    return std::nullopt;
  }
  if (contradicts_guess(facts, landings)) {
    mistaken_ = true;
    lose();
    current_.begun = true;  // or it is one that another thread began
    return std::nullopt;
  }
  const auto& frames = current_.frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal || frames[i].address != to) continue;
    const bool discarded = is_discarded(i + 1, landings);
    // Such a jump left all that was open then (V8's to the handlers of exceptions).
    const bool left = frames.size() == current_.entry;
    cut(i);
    if (comes_back(i) || current_.vague || discarded || left) return std::nullopt;
    return Problem{Grade::unexplained,
                   "returns past open calls, and no longjmp, unwinder or handler was seen"};
  }
  if ((facts & kToReturnSite) != 0 && may_have_ended_below()) {
    lose();
    return std::nullopt;
  }
  // Only they are known: what is below them is where the return may go.
  if (!current_.whole && is_discarded(0, landings)) {
    cut(0);
    return at_unknown_depth(facts, landings);
  }
  return nowhere("returns to a place that no open call returns to");
}

// A jump to a label that is nobody's left what was open then (JavaScriptCore's exceptions).
bool ShadowStack::return_behind_label(std::uint64_t to) {
  const auto& frames = current_.frames;
  if (current_.labels.empty() || current_.labels.back() != frames.size()) return false;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal || frames[i].address != to) continue;
    cut(i);
    comes_back(i);
    return true;
  }
  return false;
}

bool ShadowStack::skip(std::uint64_t to, const Landings& landings) {
  if (current_.frames.empty() || current_.frames.back().signal) return false;
  const std::uint64_t address = current_.frames.back().address;
  if (to <= address || to - address > kMostArguments) return false;
  if (!landings.is_behind_arguments(address, to)) return false;
  pop();
  return true;
}

// A program may keep a return address and push it again to leave for good (Free Pascal's halt): to
// an open call, or to one that nothing is known of.
bool ShadowStack::return_to_kept(std::uint64_t to, PathFacts facts) {
  if ((facts & kToReturnSite) == 0) return false;
  const auto& frames = current_.frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal || frames[i].address != to) continue;
    cut(i);
    return true;
  }
  if (current_.whole) return false;
  lose();
  return true;
}

// Where a jump had left calls open before that, these stay, for the next return to choose from. Of
// a stack of which not all is known, it may have left all of them.
bool ShadowStack::return_to_planted(std::uint64_t to, PathFacts facts, const Landings& landings) {
  auto& planted = current_.planted;
  const std::size_t depth = current_.frames.size();
  if ((facts & kToReturnSite) == 0 || planted.empty() || planted.back().depth != depth)
    return false;
  if (!landings.is_planted(to, planted.back().distance)) return false;
  planted.pop_back();
  if (!current_.whole && depth == current_.entry) lose();
  return true;
}

ShadowStack::Verdict ShadowStack::at_unknown_depth(PathFacts facts, const Landings* landings) {
  constexpr PathFacts kFine = kToReturnSite | kToSigreturn | kUnjudged | kResumes | kToArguments;
  if ((facts & kFine) != 0) return std::nullopt;
  const bool ends = (facts & kToFunction) != 0 && (facts & kToSensitive) == 0;
  if (ends && std::exchange(current_.begun, false)) return std::nullopt;
  const bool unseen = landings != nullptr && !landings->saw_all();
  if (ends && unseen && (facts & kToUntaken) == 0) return std::nullopt;
  return Problem{Grade::impossible, "returns to a place that is behind no call"};
}

// A handler put a call of a function in between, which saves all that the program does not expect
// to change, and goes back.
bool ShadowStack::resume_interrupted(std::uint64_t to) {
  const auto& frames = current_.frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (!frames[i].supposed || frames[i].address != to) continue;
    cut(i);
    return true;
  }
  return false;
}

// The calls that are open from here on were open when the stack was left, if it is the one that it
// was taken for.
bool ShadowStack::contradicts_guess(PathFacts facts, const Landings* landings) {
  if (current_.frames.size() != current_.guess) return false;
  if ((facts & kToReturnSite) != 0) return landings == nullptr || landings->was_called();
  if ((facts & kToFunction) != 0) {
    return (facts & (kToSensitive | kToUntaken)) == 0 && may_end();
  }
  return (facts & kResumes) != 0;
}

// Whether one of the stacks that this one was chosen from has come to its end.
bool ShadowStack::may_end() const {
  if (current_.shared) return true;
  const std::size_t closed = consumed_.size();
  return std::ranges::any_of(parked_,
                             [&](const Stack& s) { return !s.whole && s.frames.size() <= closed; });
}

void ShadowStack::guess(PathFacts facts) {
  current_.guess = current_.frames.size();
  current_.shared = (facts & kShared) != 0;
}

// All calls that are open from this depth on were made by code that a generator made, which may
// only have asked where it is called from.
bool ShadowStack::is_discarded(std::size_t depth, const Landings* landings) const {
  const auto above = std::span(current_.frames).subspan(depth);
  return landings != nullptr && !above.empty() && std::ranges::all_of(above, [&](const Frame& f) {
           return !f.signal && landings->is_generated(f.address);
         });
}

// The calls stay open: what goes on from here is held against them.
ShadowStack::Verdict ShadowStack::nowhere(std::string_view why) {
  if (current_.astray == 0) current_.known = current_.frames.size();
  if (++current_.astray == kMostAstray) lose();
  return Problem{Grade::impossible, why};
}

// A return behind a call left `depth` others open. False: that was no call from before.
bool ShadowStack::comes_back(std::size_t depth) {
  if (current_.astray == 0 || depth >= current_.known) return false;
  current_.astray = 0;
  return true;
}

// How many frames of a stack are those of one that was left at the same place as the one that a
// switch was taken to lead to, so that a return goes to `to` behind those that were closed since:
// all of them, or fewer where what is above was another stack. 0: none.
std::size_t ShadowStack::like_consumed(const Stack& stack, std::uint64_t to) const {
  constexpr std::size_t kMostSearched = 4096;
  const auto& frames = stack.frames;
  const std::size_t closed = consumed_.size();
  const std::size_t last = frames.size() - std::min(frames.size(), kMostSearched);
  for (std::size_t end = frames.size(); end > closed && end > last; --end) {
    const Frame* top = frames.data() + end;
    if ((top - 1 - closed)->address != to) continue;
    const bool same = std::ranges::all_of(consumed_, [&](std::uint64_t address) {
      --top;
      return !top->signal && top->address == address;
    });
    if (same) return end;
  }
  return 0;
}

// This return is where the stack that a switch led to and the one that it was taken for part.
bool ShadowStack::take_other_stack(std::uint64_t to) {
  constexpr std::size_t kMostTried = 64;
  if (consumed_.empty() || current_.frames.size() != floor_) return false;
  const std::size_t first = parked_.size() - std::min(parked_.size(), kMostTried);
  for (std::size_t p = parked_.size(); p-- > first;) {
    const std::size_t end = like_consumed(parked_[p], to);
    if (end == 0) continue;
    const std::vector<std::uint64_t> again = consumed_;
    const bool guessed = current_.guess != kNothing;
    const bool shared = current_.shared;
    for (const std::uint64_t address : again | std::views::reverse) call(address);
    std::swap(current_, parked_[p]);
    if (end != current_.frames.size()) leave_above(end);
    floor_ = current_.frames.size();
    consumed_.clear();
    for (std::size_t i = 0; i <= again.size(); ++i) pop();
    if (guessed) guess(shared ? PathFacts{kShared} : 0);  // others may fit as well
    return true;
  }
  return false;
}

}  // namespace hodo::check
