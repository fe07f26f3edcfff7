#include "path_summary.h"

#include <algorithm>

namespace hodo::check {

void PathEffectBuilder::clear() {
  returned_.clear();
  called_.clear();
  ends_returns_ = false;
  ends_jumps_ = false;
  possible_ = true;
}

void PathEffectBuilder::call(std::uint64_t next, std::uint64_t to) {
  if (to != next) called_.push_back(next);
  ends_returns_ = true;
  ends_jumps_ = true;
}

void PathEffectBuilder::ret(std::uint64_t to) {
  ends_returns_ = true;
  ends_jumps_ = true;
  if (called_.empty()) {
    returned_.push_back(to);
    return;
  }
  possible_ = possible_ && called_.back() == to;
  called_.pop_back();
}

void PathSummaries::select(std::uint32_t memory, std::uint64_t salt) {
  if (memory == memory_ && salt == salt_) return;
  memory_ = memory;
  salt_ = salt;
  addresses_.clear();
  if (++epoch_ != 0) return;
  std::ranges::fill(entries_, Entry{});
  std::ranges::fill(edges_, Edge{});
  epoch_ = 1;
}

void PathSummaries::add_edge(std::uint32_t number, const EdgeEffect& effect) {
  if (number >= edges_.size()) edges_.resize(std::size_t{number} + 1);
  edges_[number] = {effect, epoch_};
}

PathSummaries::Entry& PathSummaries::entry(std::uint32_t path) {
  if (path >= entries_.size()) entries_.resize(std::size_t{path} + 1);
  return entries_[path];
}

void PathSummaries::add(std::uint32_t path, const PathEffectBuilder& made) {
  const PathEffect effect = made.effect();
  const std::size_t size = effect.returned.size() + effect.called.size();
  const bool fits = effect.returned.size() <= kMostOfPath && effect.called.size() <= kMostOfPath &&
                    size <= kMostAddresses - addresses_.size();
  if (!made.possible() || !fits) return add_not_simple(path);
  entry(path) = {.first = static_cast<std::uint32_t>(addresses_.size()),
                 .epoch = epoch_,
                 .returns = static_cast<std::uint16_t>(effect.returned.size() & kMostOfPath),
                 .calls = static_cast<std::uint16_t>(effect.called.size() & kMostOfPath),
                 .ends_returns = effect.ends_returns,
                 .ends_jumps = effect.ends_jumps,
                 .simple = true};
  addresses_.insert(addresses_.end(), effect.returned.begin(), effect.returned.end());
  addresses_.insert(addresses_.end(), effect.called.begin(), effect.called.end());
}

}  // namespace hodo::check
