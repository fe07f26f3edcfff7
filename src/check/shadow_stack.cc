#include "shadow_stack.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace hodo::check {
namespace {

// Deeper than any stack of the kernel's default size can be with the smallest frames; the oldest
// calls are forgotten beyond it.
constexpr std::size_t kDeepest = std::size_t{1} << 20;
constexpr std::size_t kMostParked = 1024;
constexpr std::size_t kMostParkedFrames = std::size_t{1} << 22;
constexpr std::size_t kMostMarks = std::size_t{1} << 16;
constexpr std::size_t kMostChoices = 256;
constexpr std::size_t kMostOthers = std::size_t{1} << 18;  // of all choices together
constexpr std::size_t kMostConsumed = 64;
// Returns that nothing explains, until a stack is given up: longer than any chain of interest.
constexpr unsigned kMostAstray = 64;

}  // namespace

void ShadowStack::push(Frame frame) {
  if (current_.frames.size() == kDeepest) {
    current_.frames.erase(current_.frames.begin(), current_.frames.begin() + kDeepest / 2);
    current_.marks.clear();
    current_.choices.clear();
    current_.guess = current_.entry = kNothing;
    current_.whole = false;
    floor_ = 0;
  }
  current_.frames.push_back(frame);
}

void ShadowStack::call(std::uint64_t return_address) {
  // What is below the open calls is not known, nor what the finding's chain left of them.
  if (current_.astray != 0 && !current_.whole) lose();
  push({.address = return_address});
}

void ShadowStack::pop() {
  const std::size_t depth = current_.frames.size() - 1;
  if (depth < floor_) {
    floor_ = depth;
    if (consumed_.size() < kMostConsumed) consumed_.push_back(current_.frames.back().address);
  }
  cut(depth);
}

void ShadowStack::cut(std::size_t depth) {
  current_.frames.resize(depth);
  while (!current_.marks.empty() && current_.marks.back().depth > depth) current_.marks.pop_back();
  for (Choice& choice : current_.choices) choice.low = std::min(choice.low, depth);
  if (current_.guess != kNothing) current_.guess = std::min(current_.guess, depth);
  if (current_.entry != kNothing && depth < current_.entry) current_.entry = kNothing;
  if (depth >= floor_) return;
  // More than the last call: nothing can be compared with other stacks any more.
  floor_ = 0;
  consumed_.clear();
}

void ShadowStack::reset(bool whole) {
  current_ = Stack{.whole = whole};
  consumed_.clear();
  floor_ = 0;
  unsettled_ = false;
}

void ShadowStack::lose() { reset(false); }

// --- returns ---

ShadowStack::Verdict ShadowStack::ret(std::uint64_t to, PathFacts facts, const Landings* landings) {
  const bool leaves = std::exchange(unsettled_, false) || (facts & kFromSwitch) != 0;
  if (leaves && !parked_.empty() && resume_stack(to, facts)) return std::nullopt;
  if (!current_.frames.empty()) {
    const Frame& top = current_.frames.back();
    if (!top.signal && top.address == to) {
      if ((facts & kToSetjmp) != 0) {
        return_twice(to);
      } else {
        pop();
        if ((facts & kMayStay) != 0) guess(facts);
      }
      if (current_.astray != 0) comes_back(current_.frames.size());
      return std::nullopt;
    }
    if (top.signal && (facts & kToSigreturn) != 0) return std::nullopt;
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
  if (unsettled_ || current_.astray != 0 || returned.size() > frames.size()) return false;
  if (frames.size() > kDeepest / 2) return false;  // calls that were closed again may reach deeper
  const Frame* top = frames.data() + frames.size();
  for (const std::uint64_t address : returned) {
    --top;
    if (top->signal || top->address != address) return false;
  }
  const std::size_t depth = frames.size() - returned.size();
  if (depth >= floor_) {
    cut(depth);
  } else {
    while (frames.size() != depth) pop();
  }
  for (const std::uint64_t address : called) current_.frames.push_back({.address = address});
  return true;
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
  constexpr PathFacts kMayBeJumpedTo = kToFunction | kToLabel | kUnjudged;
  if ((facts & (kFromPushed | kFromStored)) != 0 && (facts & kMayBeJumpedTo) != 0) {
    const bool replaces = (facts & kFromStored) != 0 && !current_.frames.empty();
    if (replaces) pop();
    return std::nullopt;
  }
  if ((facts & kFromPushed) != 0 && return_to_kept(to, facts)) return std::nullopt;
  if (take_alternative(to)) return std::nullopt;
  if ((facts & kResumes) != 0 && resume_interrupted(to)) return std::nullopt;
  if ((facts & kFromSwitch) != 0) return switch_to(to, facts, landings);
  if (take_other_stack(to)) return std::nullopt;
  if (current_.frames.empty() && !current_.whole) return at_unknown_depth(facts);
  const bool at_entry = current_.frames.size() == current_.entry;
  if (at_entry && resume_stack(to, facts)) return std::nullopt;
  // The function that a stack began with ends.
  const bool ends =
      at_entry && (facts & kToFunction) != 0 && (facts & (kToSensitive | kToUntaken)) == 0;
  if (ends) {
    current_.entry = kNothing;
    return std::nullopt;
  }
  if ((facts & kUnjudged) != 0) {
    lose();
    return std::nullopt;
  }
  if (contradicts_guess(facts, landings)) {
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
  // Only they are known: what is below them is where the return may go.
  if (!current_.whole && is_discarded(0, landings)) {
    cut(0);
    return at_unknown_depth(facts);
  }
  return nowhere("returns to a place that no open call returns to");
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

ShadowStack::Verdict ShadowStack::at_unknown_depth(PathFacts facts) {
  constexpr PathFacts kFine = kToReturnSite | kToSigreturn | kUnjudged | kResumes;
  if ((facts & kFine) != 0) return std::nullopt;
  const bool ends = (facts & kToFunction) != 0 && (facts & kToSensitive) == 0;
  if (ends && std::exchange(current_.begun, false)) return std::nullopt;
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

// A jump was taken to end at one of several depths; the return shows which it was.
bool ShadowStack::take_alternative(std::uint64_t to) {
  auto& choices = current_.choices;
  for (std::size_t c = choices.size(); c-- > 0;) {
    auto& [chosen, low, others] = choices[c];
    if (current_.frames.size() != low) continue;
    const std::size_t returned = chosen - low;
    for (std::size_t i = others.size(); i-- > 0;) {
      if (others[i] <= returned) break;
      const std::size_t depth = others[i] - returned - 1;
      if (current_.frames[depth].signal || current_.frames[depth].address != to) continue;
      chosen = others[i];
      others.resize(i);
      choices.resize(c + 1);
      cut(depth);
      return true;
    }
  }
  return false;
}

// A jump ended at `depth` or at one of the others, which are ascending.
void ShadowStack::choose(std::size_t depth, std::vector<std::size_t> others) {
  cut(depth);
  auto& choices = current_.choices;
  // What was open from when these were made is closed, whichever holds.
  while (!choices.empty() && choices.back().chosen >= depth) choices.pop_back();
  if (others.empty()) return;
  choices.push_back({.chosen = depth, .low = depth, .others = std::move(others)});
  std::size_t all = 0;
  for (const Choice& choice : choices) all += choice.others.size();
  if (choices.size() <= kMostChoices && all <= kMostOthers) return;
  choices.erase(choices.begin());
  current_.vague = true;
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
    for (const std::uint64_t address : again | std::views::reverse) call(address);
    std::swap(current_, parked_[p]);
    if (end != current_.frames.size()) leave_above(end);
    floor_ = current_.frames.size();
    consumed_.clear();
    for (std::size_t i = 0; i <= again.size(); ++i) pop();
    return true;
  }
  return false;
}

// --- jumps ---

bool ShadowStack::start_program() {
  if (!std::exchange(starting_, false)) return false;
  reset(true);
  return true;
}

ShadowStack::Verdict ShadowStack::jump(std::uint64_t to, PathFacts facts,
                                       const Landings& landings) {
  if (long_jump(to)) return std::nullopt;
  const bool lands = (facts & kToLanding) != 0;
  if (lands && (land(to, landings) || land_elsewhere(to, landings))) return std::nullopt;
  if (resume_stack(to, facts)) return std::nullopt;
  const bool guessed = current_.guess != kNothing;
  if ((facts & kUnjudged) != 0 || !current_.whole || current_.astray != 0 || guessed) {
    constexpr PathFacts kFine = kToSetjmp | kToLanding | kUnjudged;
    if ((facts & kFine) != 0) {
      lose();
      return std::nullopt;
    }
  }
  // A tail call, as of the dynamic linker's resolver, or the first entry of another stack: its
  // frames then lie on those of this one, and are told apart when this one goes on.
  // longjmp does neither.
  const bool may_begin = (facts & kFromLongjmp) == 0;
  if ((facts & kToFunction) != 0 && may_begin) {
    if ((facts & kFromResolver) == 0) current_.entry = current_.frames.size();
    return std::nullopt;
  }
  if ((facts & kToLabel) != 0 && may_begin) {
    if (go_to_label(to, facts, landings)) return std::nullopt;
    // The label's function may be one whose call is not known: those that are known are closed, or
    // wait, if another stack begins.
    if (!current_.whole) park();
    if (guessed) lose();
    unsettled_ = true;
    return std::nullopt;
  }
  if ((facts & kToSetjmp) != 0) {
    lose();
    return Problem{Grade::unexplained, "jumps to a setjmp of a function that has returned"};
  }
  if ((facts & kToLanding) != 0) {
    lose();
    return Problem{Grade::unexplained,
                   "jumps to the exception handler of a function that is not open"};
  }
  if ((facts & kToReturnSite) != 0 && may_begin) return switch_to(to, facts, &landings);
  if (!may_begin) return nowhere("a longjmp to a place that is no setjmp");
  return nowhere(
      "changes the stack and jumps to a place that is no setjmp, no exception handler, no function "
      "and behind no call");
}

bool ShadowStack::long_jump(std::uint64_t to) {
  const auto find = [to](const Stack& stack) {
    return std::ranges::find(stack.marks.rbegin(), stack.marks.rend(), to, &Mark::address);
  };
  auto mark = find(current_);
  for (std::size_t p = parked_.size(); p-- > 0 && mark == current_.marks.rend();) {
    if (find(parked_[p]) == parked_[p].marks.rend()) continue;
    Stack next = std::move(parked_[p]);
    parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(p));
    park();
    current_ = std::move(next);
    mark = find(current_);
  }
  if (mark == current_.marks.rend()) return false;
  const std::size_t depth = mark->depth;
  const std::uint64_t through = mark->through;
  std::vector<std::size_t> others;
  for (const Mark& m : current_.marks) {
    if (m.address == to && m.depth < depth) others.push_back(m.depth);
  }
  choose(depth, std::move(others));
  if (through != 0) push({.address = through});
  return true;
}

bool ShadowStack::land(std::uint64_t to, const Landings& landings) {
  const auto& frames = current_.frames;
  std::optional<std::size_t> found;
  std::vector<std::size_t> others;
  // Recursion repeats return addresses; each is asked for once.
  std::uint64_t last = 0;
  std::uint64_t found_for = 0;
  bool fits = false;
  for (std::size_t i = frames.size(); i-- > 0;) {
    // What a handler throws lands where an exception of the instruction that was interrupted would,
    // not one of a call before it.
    const std::uint64_t address = frames[i].address + (frames[i].signal ? 1 : 0);
    if (address != last) {
      if (found && address != found_for) continue;
      last = address;
      fits = landings.lands(last, to);
    }
    if (!fits) continue;
    if (found) {
      others.push_back(i);
    } else {
      found = i;
      found_for = address;
    }
  }
  if (!found) return false;
  std::ranges::reverse(others);
  choose(*found, std::move(others));
  return true;
}

// The function that a jump put on top of a stack that was left has thrown: the calls are that
// stack's, and the one that it was put there from waits.
bool ShadowStack::land_elsewhere(std::uint64_t to, const Landings& landings) {
  if (current_.entry == kNothing) return false;
  for (std::size_t p = parked_.size(); p-- > 0;) {
    std::swap(current_, parked_[p]);
    if (land(to, landings)) {
      Stack waits = std::move(parked_[p]);
      waits.frames.resize(waits.entry);
      while (!waits.marks.empty() && waits.marks.back().depth > waits.entry) waits.marks.pop_back();
      waits.choices.clear();
      waits.entry = kNothing;
      parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(p));
      parked_.push_back(std::move(waits));
      floor_ = 0;
      consumed_.clear();
      return true;
    }
    std::swap(current_, parked_[p]);
  }
  return false;
}

// The label's function is open: what it called is closed. Or it jumps itself, and nothing is, or it
// is a switch between stacks that leaves one at a label.
bool ShadowStack::go_to_label(std::uint64_t to, PathFacts facts, const Landings& landings) {
  const auto& frames = current_.frames;
  std::vector<std::size_t> depths;  // the innermost first
  if ((facts & kToOwnLabel) != 0) depths.push_back(frames.size());
  std::map<std::uint64_t, bool> asked;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal) continue;
    const auto [answer, fresh] = asked.try_emplace(frames[i].address, false);
    if (fresh) answer->second = landings.owns(frames[i].address, to);
    if (answer->second) depths.push_back(i);
  }
  if (depths.empty()) return false;
  const std::size_t innermost = depths.front();
  std::ranges::reverse(depths);
  depths.pop_back();
  choose(innermost, std::move(depths));
  if ((facts & kToOwnLabel) != 0) unsettled_ = true;
  return true;
}

std::vector<std::uint64_t> ShadowStack::setjmps(std::size_t most) const {
  std::vector<std::uint64_t> out;
  for (const Mark& mark : current_.marks | std::views::reverse) {
    if (out.size() == most) break;
    if (std::ranges::find(out, mark.address) == out.end()) out.push_back(mark.address);
  }
  std::ranges::reverse(out);
  return out;
}

// --- several stacks ---

namespace {

// What makecontext, a coroutine library, or whoever left a stack can have put there. A function
// whose address is nowhere to be had is no coroutine's, and none begins by system().
bool begins_stack(PathFacts facts) {
  if ((facts & (kUnjudged | kToSigreturn)) != 0) return true;
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
  Stack next = std::move(*found);
  parked_.erase(found);
  park();
  current_ = std::move(next);
  floor_ = current_.frames.size();
  if (!only || (facts & (kShared | kMayStay)) != 0) guess(facts);
  pop();
  return true;
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
  if (count > 1 || (facts & kShared) != 0) guess(facts);
  return true;
}

// What is above `depth` is another stack, which is left.
void ShadowStack::leave_above(std::size_t depth) {
  Stack below = current_;
  below.frames.resize(depth);
  current_.frames.erase(current_.frames.begin(),
                        current_.frames.begin() + static_cast<std::ptrdiff_t>(depth));
  current_.marks.clear();
  current_.choices.clear();
  current_.begun = current_.entry == depth;
  current_.guess = current_.entry = kNothing;
  current_.whole = false;
  park();
  current_ = std::move(below);
  floor_ = depth;
  cut(depth);
}

ShadowStack::Verdict ShadowStack::switch_to(std::uint64_t to, PathFacts facts,
                                            const Landings* landings) {
  if (resume_stack(to, facts) || long_jump(to)) return std::nullopt;
  if ((facts & kToReturnSite) != 0 && split_stack(to, facts)) return std::nullopt;
  if ((facts & kToLabel) != 0 && landings != nullptr && go_to_label(to, facts, *landings)) {
    return std::nullopt;
  }
  if (begins_stack(facts)) {
    park();
    current_.begun = (facts & (kToFunction | kShared)) != 0;
    return std::nullopt;
  }
  if ((facts & kToSensitive) != 0) {
    return nowhere("changes the stack and returns into a function that only calls should reach");
  }
  return nowhere("changes the stack and goes to a place where no other stack was left");
}

// --- system calls, signals, gaps ---

void ShadowStack::leave(std::uint64_t resume, std::uint64_t again, PathFacts facts) {
  away_ = Away{.resume = resume, .again = again, .sigreturn = (facts & kSigreturn) != 0};
}

void ShadowStack::leave_filter() { away_ = Away{.filtered = true}; }

ShadowStack::Verdict ShadowStack::after_sigreturn(std::uint64_t to, PathFacts facts) {
  if (current_.frames.empty() || !current_.frames.back().signal) {
    const auto& frames = current_.frames;
    const bool open = std::ranges::any_of(frames, [](const Frame& f) { return f.signal; });
    const bool known = current_.whole && (facts & kUnjudged) == 0;
    lose();
    if (!known) return std::nullopt;
    if (open) {
      return Problem{Grade::unexplained, "a sigreturn while the handler has open calls"};
    }
    return Problem{Grade::impossible, "a sigreturn without a signal"};
  }
  const std::uint64_t interrupted = current_.frames.back().address;
  keep_marks_of_handler();
  pop();
  if (to == interrupted || (facts & kUnjudged) != 0) return std::nullopt;
  return put_by_handler(to, interrupted, facts);
}

// A handler may change where the program goes on: behind an instruction that it did itself, at a
// label or in a function made for that, behind an open call.
ShadowStack::Verdict ShadowStack::put_by_handler(std::uint64_t to, std::uint64_t interrupted,
                                                 PathFacts facts) {
  if ((facts & kToFunction) != 0) {
    // Or another signal was waiting: its handler runs before the program goes on.
    push({.address = interrupted, .signal = true, .supposed = true});
    if ((facts & kToSensitive) == 0) return std::nullopt;
    return nowhere("a signal handler puts the thread into a function that only calls should reach");
  }
  constexpr PathFacts kMeant = kToNearby | kToLabel | kToLanding | kToSetjmp | kToSigreturn;
  if ((facts & kMeant) != 0) return std::nullopt;
  const auto& frames = current_.frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].signal || frames[i].address != to) continue;
    cut(i);
    return std::nullopt;
  }
  if (!current_.whole && (facts & kToReturnSite) != 0) return std::nullopt;
  Problem problem = *nowhere("a signal handler puts the thread into the middle of a function");
  problem.grade = Grade::unexplained;
  return problem;
}

// A setjmp of the handler itself can be come back to when the handler ran on a stack of its own:
// so coroutines are made with sigaltstack.
void ShadowStack::keep_marks_of_handler() {
  for (const Mark& mark : current_.marks | std::views::reverse) {
    if (mark.depth != current_.frames.size()) break;
    const bool kept = std::ranges::any_of(parked_, [&](const Stack& s) {
      return s.frames.empty() &&
             std::ranges::find(s.marks, mark.address, &Mark::address) != s.marks.end();
    });
    if (!kept && parked_.size() < kMostParked) {
      const Mark again{.address = mark.address, .through = mark.through};
      parked_.insert(parked_.begin(), Stack{.marks = {again}});
    }
  }
}

std::optional<std::uint64_t> ShadowStack::interrupted() const {
  const bool handled = away_ && away_->sigreturn && !current_.frames.empty();
  return handled && current_.frames.back().signal ? std::optional(current_.frames.back().address)
                                                  : std::nullopt;
}

ShadowStack::Verdict ShadowStack::enter(std::uint64_t to, PathFacts facts) {
  const std::optional<Away> away = std::exchange(away_, std::nullopt);
  if ((facts & kToImage) != 0 && (!away || to != away->resume)) {
    parked_.clear();
    reset(true);
    starting_ = true;
    return std::nullopt;
  }
  if (!away) {
    lose();
    return std::nullopt;
  }
  if (away->filtered) {
    const auto& frames = current_.frames;
    if (!frames.empty() && !frames.back().signal && frames.back().address == to) {
      pop();
    } else {
      lose();
    }
    return std::nullopt;
  }
  if (away->sigreturn) return after_sigreturn(to, facts);
  if (to == away->resume || to == away->again) return std::nullopt;
  if ((facts & (kToFunction | kUnjudged)) != 0) {
    push({.address = away->resume, .signal = true});
    return std::nullopt;
  }
  lose();  // traced again from the middle: a debugger, a restartable sequence
  return std::nullopt;
}

}  // namespace hodo::check
