// System calls, signals and gaps: where the kernel leads a thread.
#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "shadow_stack.h"

namespace hodo::check {

void ShadowStack::leave(std::uint64_t resume, std::uint64_t again, PathFacts facts) {
  away_ = Away{.resume = resume, .again = again, .sigreturn = (facts & kSigreturn) != 0};
}

void ShadowStack::leave_filter() { away_ = Away{.filtered = true}; }

ShadowStack::Verdict ShadowStack::after_sigreturn(std::uint64_t to, std::uint64_t again,
                                                  PathFacts facts, const Landings* landings) {
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
  // It is not made yet: another signal came in front of it. Where the one that is made leads is
  // what counts.
  if (to == again && to != interrupted) return std::nullopt;
  const bool exchanged = exchanged_ == current_.frames.size();
  if (exchanged && end_waiting_handler(to, facts)) return std::nullopt;
  keep_marks_of_handler();
  pop();
  if ((facts & kUnjudged) != 0) return std::nullopt;
  if (to == interrupted) {
    // Or another one goes on that was interrupted there.
    takes_turns_ = takes_turns_ || std::ranges::any_of(current_.frames, [to](const Frame& f) {
                     return f.supposed && f.address == to;
                   });
    if (takes_turns_) guess(facts);
    return std::nullopt;
  }
  if ((facts & kToFunction) == 0 && take_turn(to, interrupted, facts)) return std::nullopt;
  return put_by_handler(to, interrupted, facts, landings);
}

// Threads of the program's own between which a handler exchanges contexts: what was interrupted now
// waits, and what was interrupted at `to`, and left for a function that began another one, goes on.
bool ShadowStack::take_turn(std::uint64_t to, std::uint64_t interrupted, PathFacts facts) {
  const auto fits = [to](const Frame& f) { return f.supposed && f.address == to; };
  const auto count = [&](const Stack& stack) { return std::ranges::count_if(stack.frames, fits); };
  const auto found = std::ranges::find_if(parked_, count);
  auto waiting = count(current_);
  const bool on_top = waiting != 0;
  for (const Stack& stack : parked_) waiting += count(stack);
  if (waiting == 0) return false;
  push({.address = interrupted, .signal = true, .supposed = true});
  if (!on_top) {
    take_up(found);
  }
  std::size_t depth = current_.frames.size() - 1;
  while (!fits(current_.frames[depth])) --depth;
  if (depth + 1 < current_.frames.size()) leave_above(depth + 1);
  cut(depth);
  if (waiting > 1) guess(facts);
  takes_turns_ = true;
  return true;
}

// Whether the label's function was interrupted there or has an open call, as far as those are
// known.
bool ShadowStack::is_of_open(std::uint64_t label, std::uint64_t interrupted,
                             const Landings& landings) const {
  if (!current_.whole || current_.guess != kNothing || landings.is_nobodys(label)) return true;
  // What a handler interrupted is the instruction itself, no call before it.
  std::set<std::uint64_t> asked = {interrupted + 1};
  if (landings.owns(interrupted + 1, label)) return true;
  return std::ranges::any_of(current_.frames, [&](const Frame& f) {
    const std::uint64_t address = f.address + (f.signal ? 1 : 0);
    return asked.insert(address).second && landings.owns(address, label);
  });
}

// A handler may change where the program goes on: behind an instruction that it did itself, at a
// label of a function that is open or in a function made for that, behind an open call.
ShadowStack::Verdict ShadowStack::put_by_handler(std::uint64_t to, std::uint64_t interrupted,
                                                 PathFacts facts, const Landings* landings) {
  if ((facts & kToFunction) != 0) {
    // Or another signal was waiting: its handler runs before the program goes on.
    push({.address = interrupted, .signal = true, .supposed = true});
    if ((facts & (kToSensitive | kToUntaken)) == 0) return std::nullopt;
    return nowhere("a signal handler puts the thread into a function that only calls should reach");
  }
  constexpr PathFacts kMeant = kToNearby | kToSetjmp | kToSigreturn;
  if ((facts & kMeant) != 0) return std::nullopt;
  if ((facts & (kToLabel | kToLanding)) != 0 &&
      (landings == nullptr || is_of_open(to, interrupted, *landings))) {
    return std::nullopt;
  }
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

ShadowStack::Verdict ShadowStack::enter(std::uint64_t to, PathFacts facts,
                                        const Landings* landings) {
  const std::optional<Away> away = std::exchange(away_, std::nullopt);
  if ((facts & kToImage) != 0 && (!away || to != away->resume)) {
    parked_.clear();
    mistaken_ = takes_turns_ = false;
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
  if (away->sigreturn) return after_sigreturn(to, away->again, facts, landings);
  if (to == away->resume || to == away->again) return std::nullopt;
  if ((facts & (kToFunction | kUnjudged)) != 0) {
    push({.address = away->resume, .signal = true});
    return std::nullopt;
  }
  lose();  // traced again from the middle: a debugger, a restartable sequence
  return std::nullopt;
}

}  // namespace hodo::check
