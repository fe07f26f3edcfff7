#include "shadow_stack.h"

#include <algorithm>

namespace hodo::check {
namespace {

constexpr std::size_t kMostConsumed = 64;
constexpr std::size_t kMostPlanted = std::size_t{1} << 16;

}  // namespace

void ShadowStack::push(Frame frame) {
  if (current_.frames.size() == kDeepest) {
    current_.frames.erase(current_.frames.begin(), current_.frames.begin() + kDeepest / 2);
    current_.marks.clear();
    current_.planted.clear();
    current_.labels.clear();
    current_.choices.clear();
    current_.guess = current_.entry = kNothing;
    current_.whole = false;
    floor_ = 0;
  }
  current_.frames.push_back(frame);
}

void ShadowStack::call(std::uint64_t return_address, PathFacts facts) {
  // What is below the open calls is not known, nor what the finding's chain left of them.
  if (current_.astray != 0 && !current_.whole) lose();
  push({.address = return_address, .twice = (facts & kToSetjmp) != 0});
}

void ShadowStack::enter_twice() {
  if (!current_.frames.empty()) current_.frames.back().twice = !current_.frames.back().signal;
}

void ShadowStack::pop() {
  const Frame last = current_.frames.back();
  const std::size_t depth = current_.frames.size() - 1;
  if (depth < floor_) {
    floor_ = depth;
    if (consumed_.size() < kMostConsumed) consumed_.push_back(last.address);
  }
  if (is_choice()) {
    close_in_all(last);
  } else {
    cut(depth);
  }
}

void ShadowStack::cut(std::size_t depth) {
  current_.frames.resize(depth);
  while (!current_.marks.empty() && current_.marks.back().depth > depth) current_.marks.pop_back();
  auto& planted = current_.planted;
  while (!planted.empty() && planted.back().depth > depth) planted.pop_back();
  auto& labels = current_.labels;
  while (!labels.empty() && labels.back() > depth) labels.pop_back();
  auto& choices = current_.choices;
  while (!choices.empty() && choices.back().at > depth) choices.pop_back();
  if (current_.guess != kNothing) current_.guess = std::min(current_.guess, depth);
  if (current_.entry != kNothing && depth < current_.entry) current_.entry = kNothing;
  if (depth >= floor_) return;
  // More than the last call: nothing can be compared with other stacks any more.
  floor_ = 0;
  consumed_.clear();
}

void ShadowStack::plant(std::uint64_t distance) {
  const std::size_t depth = current_.frames.size();
  auto& planted = current_.planted;
  if (!planted.empty() && planted.back().depth == depth) planted.pop_back();
  if (planted.size() < kMostPlanted) planted.push_back({.depth = depth, .distance = distance});
}

void ShadowStack::reset(bool whole) {
  current_ = Stack{.whole = whole};
  consumed_.clear();
  floor_ = 0;
  unsettled_ = false;
  exchanged_ = kNothing;
}

void ShadowStack::lose() {
  reset(false);
  away_.reset();
}

}  // namespace hodo::check
