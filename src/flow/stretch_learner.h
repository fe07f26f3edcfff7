// While a stretch of packets is learned (learned.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learned_stretches.h"

namespace hodo::flow {

// Of the stretch that is being learned: what becomes of the return stack, and where it went.
class StretchLearner {
 public:
  void begin() {
    level_ = low_ = peak_ = 0;
    guards_.clear();
    visited_.clear();
  }
  void visit(Link step) { visited_.push_back(step); }
  std::span<const Link> visited() const { return visited_; }
  void called(unsigned calls) {
    level_ += static_cast<int>(calls);
    peak_ = std::max(peak_, level_);
  }
  // To the address there, if it is compressed.
  void returned(std::optional<std::uint64_t> compressed) {
    if (level_ == low_) {
      if (compressed) guards_.push_back({*compressed, static_cast<unsigned>(-low_)});
      --low_;
    }
    --level_;
  }
  // False: there was too much of it.
  template <bool kExact>
  bool finish(const ReturnStack& returns, KeptStretch<kExact>& out, Learned<kExact>& does) const {
    const auto pops = static_cast<unsigned>(-low_);
    const auto pushes = static_cast<unsigned>(level_ - low_);
    if (pushes > returns.depth()) return false;
    if (std::max(pops, static_cast<unsigned>(peak_)) > ReturnStack::kSize) return false;
    out.pops = static_cast<std::uint8_t>(pops);
    out.peak = static_cast<std::uint8_t>(peak_);
    does.guards = guards_;
    for (unsigned i = pushes; i-- > 0;) does.pushed.push_back({returns.entry(i), returns.link(i)});
    return true;
  }

 private:
  int level_ = 0;  // calls that are open, more than in the beginning
  int low_ = 0;
  int peak_ = 0;
  std::vector<ReturnGuard> guards_;
  std::vector<Link> visited_;
};

}  // namespace hodo::flow
