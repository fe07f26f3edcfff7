// The stretches of packets of which it is known what they do (learned.h), by their bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "learned.h"
#include "return_stack.h"
#include "stretch.h"

namespace hodo::flow {

template <bool kExact>
class LearnedStretches {
 public:
  StretchTable& table() { return table_; }
  // Of one of the table's; null: nothing could be learned of it.
  Learned<kExact>* of(const Stretch& stretch) {
    return stretch.path.edges == kNothing ? nullptr : &learned_[stretch.path.edges];
  }
  // `place`: one of the table's of which nothing could be learned before; null: it is new there.
  // Valid until the next one.
  Learned<kExact>& add(Stretch stretch, Learned<kExact> learned, Stretch* place) {
    stretch.path.edges = learned_.size() & kNothing;
    bytes_ += bytes_of(learned);
    if (place == nullptr) {
      table_.remember(stretch);
    } else {
      *place = stretch;
      --useless_;
    }
    return learned_.emplace_back(std::move(learned));
  }
  void add_useless(Stretch stretch) {
    stretch.path.edges = kNothing;
    table_.remember(stretch);
    ++useless_;
  }
  // One of which nothing could be learned has come again: whether to try once more.
  static bool tries_again(Stretch& stretch) {
    constexpr std::uint32_t kFirst = 4;
    return ++stretch.path.hits >= kFirst && std::has_single_bit(stretch.path.hits);
  }
  // There is no room for more. It may be cleared then, if it has paid.
  bool full() const { return learned_.size() + useless_ >= kMost || bytes_ >= kMostBytes; }
  bool has_paid() const { return taken_ >= kWorth * kMost; }
  void clear() {
    table_.clear();
    learned_.clear();
    useless_ = 0;
    taken_ = 0;
    bytes_ = 0;
  }

  // Whether to look for one at a packet, where a word can be read: always behind the last one, else
  // where the bytes say so, that is, at the same places when they come again. Where hardly any are
  // found not at all for a while, longer each time.
  bool worth_a_look(const std::uint8_t* at) {
    if (pause_ != 0) [[likely]] {
      --pause_;
      return false;
    }
    constexpr unsigned kOneIn = 3;  // power of two
    const bool here = load_word(at) * 0xd6e8feb86659fd93u >> (64 - kOneIn) == 0;
    if (!std::exchange(behind_one_, false) && !here && ++passed_ < kMostPassed) return false;
    passed_ = 0;
    if (++looks_ == patience_) judge();
    return true;
  }
  void took() {
    behind_one_ = true;
    ++hits_;
  }

 private:
  static constexpr std::uint32_t kNothing = (std::uint32_t{1} << 24) - 1;  // Path::edges
  static constexpr std::size_t kMost = std::size_t{1} << 14;
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of what was learned
  static constexpr std::size_t kWorth = 8;                          // times that each was taken
  static constexpr std::uint32_t kMostPassed = 16;
  static constexpr std::uint32_t kLearning = 1 << 14;  // looks until it is judged
  static constexpr std::uint32_t kPatience = 1 << 12;
  static constexpr std::uint32_t kFoundOneIn = 8;
  static constexpr std::uint32_t kLeastPause = 1 << 16;  // packets
  static constexpr std::uint32_t kMostPause = 1 << 22;

  static std::size_t bytes_of(const Learned<kExact>& learned) {
    const auto bytes = [](const auto&... lists) {
      return ((lists.size() * sizeof(lists.front())) + ...);
    };
    const auto& calls = learned.calls;
    const std::size_t common = sizeof learned + bytes(learned.units, learned.pushed, calls.returned,
                                                      calls.tails, calls.noted);
    if constexpr (kExact) {
      return common + bytes(calls.opened, calls.passed, calls.singles);
    } else {
      return common + bytes(calls.paths, calls.open);
    }
  }
  void judge() {
    if (hits_ < looks_ / kFoundOneIn) {
      pause_ = next_pause_;
      next_pause_ = std::min(2 * next_pause_, kMostPause);
    } else {
      next_pause_ = kLeastPause;
    }
    taken_ += hits_;
    looks_ = hits_ = 0;
    patience_ = kPatience;
  }

  StretchTable table_;
  std::vector<Learned<kExact>> learned_;
  std::size_t useless_ = 0;
  std::size_t bytes_ = 0;
  bool behind_one_ = false;
  std::uint32_t passed_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = kLeastPause;
  std::uint32_t patience_ = kLearning;
  std::uint32_t looks_ = 0;
  std::uint32_t hits_ = 0;  // of them
  std::size_t taken_ = 0;   // up to the last judgement
};

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
  // False: there was too much of it. `pushed` is what it has left there.
  bool finish(const ReturnStack& returns, Stretch& out,
              std::vector<std::pair<std::uint64_t, Link>>& pushed) const;

 private:
  struct Guard {
    std::uint64_t address;
    unsigned below;  // the top, in the beginning
  };
  int level_ = 0;  // calls that are open, more than in the beginning
  int low_ = 0;
  int peak_ = 0;
  std::vector<Guard> guards_;
  std::vector<Link> visited_;
};

}  // namespace hodo::flow
