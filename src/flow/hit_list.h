// Which of the remembered paths ran in this decoding, and which in the one before it: only where
// the two differ have sums to be made anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "path.h"

namespace hodo::flow {

class HitList {
 public:
  void add(std::size_t at) { touched_.push_back(static_cast<std::uint32_t>(at)); }

  // How many were hit in the decoding before, and how many of these again.
  std::size_t before() const { return last_.size(); }
  template <class PathAt>
  std::size_t again(PathAt path_at) const {
    const auto hit = [&](const Last& last) { return path_at(last.at).hits != 0; };
    return static_cast<std::size_t>(std::ranges::count_if(last_, hit));
  }
  // As if there had been none.
  template <class PathAt>
  void forget_before(PathAt path_at) {
    for (const Last& last : last_) path_at(last.at).counted = 0;
    last_.clear();
  }

  // Calls visit(at, times) for each path that was hit more or less often than in the decoding
  // before; `path_at` gives the path. After that, none is hit.
  template <class PathAt, class Visit>
  void settle(PathAt path_at, Visit visit);
  // The table's entries have moved.
  void move(std::span<const std::uint32_t> to) {
    for (std::uint32_t& at : touched_) at = to[at];
    for (Last& last : last_) last.at = to[last.at];
  }
  void clear() { *this = {}; }

 private:
  struct Last {
    std::uint32_t at;
    std::uint32_t hits;
  };
  std::vector<std::uint32_t> touched_;
  std::vector<Last> last_;
  std::vector<Last> now_;
};

template <class PathAt, class Visit>
void HitList::settle(PathAt path_at, Visit visit) {
  now_.clear();
  const auto take = [&](std::uint32_t at, std::uint32_t before) {
    Path& path = path_at(at);
    const std::uint64_t times = std::uint64_t{path.hits} - before;
    if (path.hits != 0) now_.push_back({at, path.hits});
    path.counted = path.hits != 0;
    path.hits = 0;
    if (times != 0) visit(at, times);
  };
  for (const Last& last : last_) take(last.at, last.hits);
  for (const std::uint32_t at : touched_) {
    if (path_at(at).hits != 0) take(at, 0);  // else it is among the last
  }
  touched_.clear();
  std::swap(last_, now_);
}

}  // namespace hodo::flow
