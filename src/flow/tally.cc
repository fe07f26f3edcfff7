#include "tally.h"

#include <utility>

namespace hodo::flow {

void Tally::add(const Path& path, std::span<const std::uint32_t> numbers, std::size_t edges,
                std::uint64_t times) {
  if (difference_.size() < edges) {
    difference_.resize(edges);
    seen_.resize(edges);
    place_.resize(edges);
    changed_.resize(edges + 1);
  }
  stats_.instructions += path.insns * times;
  stats_.not_taken += path.dropped * times;
  for (const std::uint32_t number : numbers) {
    // Without a branch: whether it is the first time nobody can foretell.
    changed_[changes_] = number;
    changes_ += 1u - seen_[number];
    seen_[number] = 1;
    difference_[number] += times;
  }
}

void Tally::start_over() {
  for (const std::uint32_t number : number_) place_[number] = 0;
  edges_.clear();
  number_.clear();
  stats_ = {};
}

void Tally::finish(const Branch* edges) {
  for (const std::uint32_t number : std::span(changed_).first(changes_)) {
    seen_[number] = 0;
    const std::uint64_t times = std::exchange(difference_[number], 0);
    if (times != 0) change(number, edges[number], times);
  }
  changes_ = 0;
}

void Tally::change(std::uint32_t number, const Branch& edge, std::uint64_t times) {
  const bool not_taken = (edge.flags & kNotTaken) != 0;
  (not_taken ? stats_.not_taken : stats_.branches[static_cast<std::size_t>(edge.kind)]) += times;
  std::uint32_t& place = place_[number];
  if (place == 0) {
    edges_.push_back({edge.from, edge.to, 0, edge.kind, edge.flags});
    number_.push_back(number);
    place = static_cast<std::uint32_t>(edges_.size());
  }
  EdgeCount& count = edges_[place - 1];
  count.count += times;
  if (count.count != 0) return;
  // The last one takes its place.
  count = edges_.back();
  number_[place - 1] = number_.back();
  place_[number_.back()] = place;
  edges_.pop_back();
  number_.pop_back();
  place_[number] = 0;
}

}  // namespace hodo::flow
