// Jumps that may have ended at several depths, and what the returns behind them say.
//
// All that may be open is the same from the outermost call on, so depths are enough to tell it
// apart. Calls that are made since lie above each of them. Where those are closed, each return goes
// behind the last call at every depth that remains, and one that meets an older choice on its way
// goes on from all that was left open there. Mostly, returns go on as the jump was taken: they are
// kept, and held against the other depths only where one does not.
#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "shadow_stack.h"

namespace hodo::check {
namespace {

constexpr std::size_t kMostChoices = 256;
constexpr std::size_t kMostOthers = std::size_t{1} << 18;  // of all choices together
// Returns that one choice is held against, times its depths: a second's work.
constexpr std::size_t kMostSteps = std::size_t{1} << 27;

std::vector<std::size_t> joined(const std::vector<std::size_t>& a,
                                const std::vector<std::size_t>& b) {
  std::vector<std::size_t> out;
  out.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

// Only depths whose last call fits remain, less what is closed of each, 1 or 0.
void close(std::vector<std::size_t>& depths, auto&& fits, std::size_t closed) {
  std::erase_if(depths, [&](std::size_t d) { return d == 0 || !fits(d); });
  for (std::size_t& depth : depths) depth -= closed;
}

bool is_same(const ShadowStack::Frame& a, const ShadowStack::Frame& b) {
  return a.signal == b.signal && a.address == b.address;
}

}  // namespace

// A jump ended at `depth` or at one of the others, which are ascending.
void ShadowStack::choose(std::size_t depth, std::vector<std::size_t> others) {
  cut(depth);
  add_choice({.at = depth, .others = std::move(others), .below = !current_.whole});
}

// That of an older choice at this depth may be, too.
void ShadowStack::add_choice(Choice choice) {
  if (choice.others.empty() && !choice.below) return;
  current_.choices.push_back(std::move(choice));
  join_last();
  auto& choices = current_.choices;
  std::size_t all = 0;
  for (const Choice& c : choices) all += c.others.size();
  if (choices.size() <= kMostChoices && all <= kMostOthers) return;
  choices.erase(choices.begin());
  current_.vague = true;
}

// The last two choices are one, if they are of the same depth.
void ShadowStack::join_last() {
  auto& choices = current_.choices;
  if (choices.size() < 2 || choices[choices.size() - 2].at != choices.back().at) return;
  settle();
  const Choice last = std::move(choices.back());
  choices.pop_back();
  choices.back().others = joined(choices.back().others, last.others);
  choices.back().below |= last.below;
}

// Whether the last call is one of several.
bool ShadowStack::is_choice() const {
  return !current_.choices.empty() && current_.choices.back().at == current_.frames.size();
}

// Takes from all choices the depths that a return since did not fit.
void ShadowStack::settle() {
  auto& choices = current_.choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Choice& choice = choices[i];
    const std::vector<Frame> popped = std::exchange(choice.popped, {});
    if (choice.others.size() > kMostSteps / std::max<std::size_t>(popped.size(), 1)) {
      choice.others.clear();
      current_.vague = true;
      continue;
    }
    const std::size_t first = choice.at + popped.size();
    // Above `at` others may lie by now.
    const auto closes = [&](std::size_t depth, const Frame& closed) {
      return is_same(depth <= choice.at ? current_.frames[depth - 1] : popped[first - depth],
                     closed);
    };
    // So many calls have been closed of each.
    std::erase_if(choice.others, [&](std::size_t d) { return d < popped.size(); });
    for (const Frame& closed : popped) {
      add_older(i, choice.others, choice.below);
      close(choice.others, [&](std::size_t d) { return closes(d, closed); }, 1);
    }
  }
}

// To depths, those that older choices than number `end`, which are settled, leave open there.
void ShadowStack::add_older(std::size_t end, std::vector<std::size_t>& depths, bool& below) const {
  // The others of each are less deep than itself.
  for (const Choice& older : std::span(current_.choices).first(end) | std::views::reverse) {
    if (!std::ranges::binary_search(depths, older.at)) continue;
    depths = joined(depths, older.others);
    below |= older.below;
  }
}

// Only depths that the stack may have at which the last call fits remain, less what is closed of
// each, 1 or 0. False: there is none, and nothing is changed.
bool ShadowStack::narrow(auto&& fits, std::size_t closed) {
  auto& choices = current_.choices;
  settle();
  std::vector<std::size_t> all = {current_.frames.size()};
  bool below = false;
  add_older(choices.size(), all, below);
  close(all, [&](std::size_t d) { return fits(current_.frames[d - 1]); }, closed);
  if (all.empty()) return false;
  const std::size_t depth = all.back();
  all.pop_back();
  while (!choices.empty() && choices.back().at >= depth + closed) choices.pop_back();
  cut(depth);
  add_choice({.at = depth, .others = std::move(all), .below = below});
  return true;
}

// Closes the last call, and wherever else the jump may have ended one that is the same.
void ShadowStack::close_in_all(const Frame& last) {
  Choice& choice = current_.choices.back();
  --choice.at;
  if (!choice.others.empty()) choice.popped.push_back(last);
  cut(choice.at);
  join_last();
}

// The return shows that a jump did not end where it was taken to. That of a signal handler leaves
// it open: the sigreturn closes it.
bool ShadowStack::take_alternative(std::uint64_t to, PathFacts facts) {
  if (!is_choice()) return false;
  const bool sigreturns = (facts & kToSigreturn) != 0;
  if (sigreturns && narrow([](const Frame& f) { return f.signal; }, 0)) return true;
  return narrow([to](const Frame& f) { return !f.signal && f.address == to; }, 1);
}

// The jump may have ended below the calls that are known.
bool ShadowStack::may_have_ended_below() {
  if (!is_choice()) return false;
  settle();
  std::vector<std::size_t> all = {current_.frames.size()};
  bool below = false;
  add_older(current_.choices.size(), all, below);
  return below;
}

}  // namespace hodo::check
