// What a jump that is no call says of them: a new program, longjmp, exceptions, labels.
#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "shadow_stack.h"

namespace hodo::check {
namespace {

constexpr std::size_t kMostLabels = std::size_t{1} << 16;

}  // namespace

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
    if ((facts & kToUntaken) != 0) {
      return nowhere("changes the stack and jumps to a function whose address nothing holds");
    }
    if ((facts & kFromResolver) == 0) current_.entry = current_.frames.size();
    return std::nullopt;
  }
  if ((facts & kToLabel) != 0 && may_begin) {
    if (go_to_label(to, facts, landings, ToLabel::by_jump)) return std::nullopt;
    // Where all stacks are known, it is open on one that waits, or has left one at this label;
    // unless another function was given the address, and a stack begins there.
    const bool whole = current_.whole || current_.begun;
    const bool known = whole && !guessed && !mistaken_ && current_.astray == 0 &&
                       (facts & (kShared | kUnjudged)) == 0 && landings.saw_all();
    if ((facts & kToUntaken) != 0 && known && !landings.is_nobodys(to) && !landings.was_left(to) &&
        !is_of_waiting(to, landings)) {
      return nowhere("changes the stack and jumps to a label of a function that is not open");
    }
    // The label's function may be one whose call is not known: those that are known are closed, or
    // wait, if another stack begins.
    if (!current_.whole) park();
    if (guessed) lose();
    unsettled_ = true;
    if (landings.is_nobodys(to)) leave_for_label();
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
    take_up(parked_.begin() + static_cast<std::ptrdiff_t>(p));
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
      waits.planted.clear();
      waits.labels.clear();
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

// Each return address is asked about once; of very deep stacks nothing is said.
bool ShadowStack::is_of_waiting(std::uint64_t label, const Landings& landings) const {
  constexpr std::size_t kMostFrames = std::size_t{1} << 16;
  std::set<std::uint64_t> asked;
  std::size_t frames = 0;
  for (const Stack& stack : parked_) {
    frames += stack.frames.size();
    if (frames > kMostFrames) return true;
    for (const Frame& frame : stack.frames) {
      const std::uint64_t address = frame.address + (frame.signal ? 1 : 0);
      if (asked.insert(address).second && landings.owns(address, label)) return true;
    }
  }
  return false;
}

void ShadowStack::leave_for_label() {
  const std::size_t depth = current_.frames.size();
  auto& labels = current_.labels;
  const bool known = !labels.empty() && labels.back() == depth;
  if (!known && labels.size() < kMostLabels) labels.push_back(depth);
}

// The label's function is open: what it called is closed. Or it jumps itself, and nothing is, or it
// is a switch between stacks that leaves one at a label. A handler's jump may go to the function
// that it interrupted.
// OCaml raises exceptions by a return to what it finds on the stack, and its handlers stand behind
// what they guard; a context's return, to what the switch itself has pushed, is as a jump.
bool ShadowStack::go_to_label(std::uint64_t to, PathFacts facts, const Landings& landings,
                              ToLabel how) {
  const auto& frames = current_.frames;
  std::vector<std::size_t> depths;  // the innermost first
  if ((facts & kToOwnLabel) != 0) depths.push_back(frames.size());
  std::map<std::uint64_t, bool> asked;
  for (std::size_t i = frames.size(); i-- > 0;) {
    // What a handler interrupted is the instruction itself, no call before it.
    const std::uint64_t address = frames[i].address + (frames[i].signal ? 1 : 0);
    const auto [answer, fresh] = asked.try_emplace(address, false);
    if (fresh) answer->second = landings.owns(address, to);
    if (answer->second) depths.push_back(i);
  }
  if (depths.empty()) return false;
  if (how == ToLabel::by_return && !landings.goes_to_pushed()) {
    const auto guarded = std::ranges::find_if(
        depths, [&](std::size_t i) { return i < frames.size() && frames[i].address <= to; });
    if (guarded != depths.end()) depths.erase(depths.begin(), guarded);
  }
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

}  // namespace hodo::check
