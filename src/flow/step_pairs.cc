#include "step_pairs.h"

namespace hodo::flow {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

}  // namespace

void StepPairs::clear() {
  lines_.assign(1, {});  // the empty list's
  times_.assign(kOfLine, 0);
  for (auto& places : free_) places.clear();
}

// Where it is or may be put. A list with no place so near grows.
std::size_t StepPairs::place_for(List list, std::uint32_t to) const {
  if (list == kEmpty) return kNowhere;
  const std::size_t home = home_of(list, to);
  for (const std::size_t at : {home, next_of(list, home)}) {
    if (pair(at).to == to || pair(at).to == 0) return at;
  }
  return kNowhere;
}

StepPairs::Pair& StepPairs::look(List& list, std::uint32_t to, std::uint64_t time) {
  std::size_t at = place_for(list, to);
  for (; at == kNowhere; at = place_for(list, to)) list = grown(list);
  Pair& found = pair(at);
  if (found.to == 0) {
    found = {.to = to};
    times_[at] = time;
  }
  return found;
}

// The same twice as long; the old one is void.
StepPairs::List StepPairs::grown(List list) {
  if (list == kEmpty) return static_cast<List>(take(0) << kSizeBits);
  for (unsigned log2 = log2_of(list) + 1;; ++log2) {
    const auto out = static_cast<List>(take(log2) << kSizeBits | log2);
    bool fits = true;
    for (std::size_t i = 0; fits && i < size_of(list); ++i) {
      const Pair& old = pair(place_of(list) + i);
      if (old.to == 0) continue;
      const std::size_t at = place_for(out, old.to);
      fits = at != kNowhere;
      if (fits) {
        pair(at) = old;
        times_[at] = times_[place_of(list) + i];
      }
    }
    const List gone = fits ? list : out;
    for (std::size_t i = 0; i < size_of(gone); ++i) pair(place_of(gone) + i) = {};
    free_[log2_of(gone)].push_back(static_cast<std::uint32_t>(place_of(gone)));
    if (fits) return out;
  }
}

// Free places for a list, in as few lines as there may be.
std::size_t StepPairs::take(unsigned log2) {
  auto& free = free_[log2];
  if (!free.empty()) {
    const std::size_t place = free.back();
    free.pop_back();
    return place;
  }
  if (log2 < kLineLog2) {
    const std::size_t place = take(log2 + 1);
    free.push_back(static_cast<std::uint32_t>(place + (std::size_t{1} << log2)));
    return place;
  }
  const std::size_t place = times_.size();
  times_.resize(place + (std::size_t{1} << log2));
  lines_.resize(times_.size() >> kLineLog2);
  return place;
}

}  // namespace hodo::flow
