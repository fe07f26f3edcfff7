// The summed spans of a batch (SummedSpan), and the one that is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/call_spans.h"

namespace hodo::flow {

class CallSums {
 public:
  // Calls that are open in a span at most: 24 KiB.
  static constexpr std::size_t kMostOpen = 1 << 10;

  // Nothing may be written before; what was is forgotten.
  void open() {
    frames_.resize(kMostOpen);
    paths_.resize(kMostTold + kMostPaths + 4 * kAtOnce);
    slot_of_.resize(kMostPaths + 2 * kAtOnce);
    numbers_.assign(kSlots, 0);
    path_count_ = 0;
    clear();
  }
  // Where the calls begin that the span has open, each with the path below it; from limit() on it
  // has to end.
  LeftOpen* frames() { return frames_.data(); }
  const LeftOpen* limit() const { return frames_.data() + frames_.size(); }
  // It has to end before more than kAtOnce paths are added.
  static constexpr std::size_t kAtOnce = 96;
  bool full() const {
    return path_count_ >= kMostPaths || begin_ >= kMostTold || noted_.size() >= kMostNoted;
  }

  // Of the span, by number: 0 is where it began. They stay there until it ends.
  CalledPath* span_paths() { return paths_.data() + begin_; }
  std::uint32_t child(std::uint32_t parent, std::uint32_t callee) {
    const CalledPath* const paths = span_paths();
    std::size_t slot = first_slot(parent, callee);
    for (; numbers_[slot] != 0; slot = (slot + 1) & (kSlots - 1)) {
      const std::uint32_t number = numbers_[slot] - 1u;
      const CalledPath& path = paths[number];
      if (path.callee == callee && path.parent == parent) return number;
    }
    return add(parent, callee, slot);
  }
  // The innermost call was open before the span, and has returned.
  std::uint32_t returned(std::uint64_t to, std::uint32_t at) {
    returned_.push_back({.to = to, .at = at});
    return add(0, CalledPath::kOpenBefore, kSlots);
  }
  // A call of the span has returned (CallOp::noted).
  void note(std::uint64_t to) {
    if (noted_.size() == noted_told_ || noted_.back() != to) noted_.push_back(to);
  }
  std::size_t noted_in_span() const { return noted_.size() - noted_told_; }
  // What has been written of the span, before it ends.
  std::span<const CalledPath> paths_in_span() const {
    return std::span(paths_).subspan(begin_, path_count_);
  }
  std::span<const std::uint64_t> span_noted() const {
    return std::span(noted_).subspan(noted_told_);
  }
  // As if the span had not begun.
  void forget_span() {
    returned_.resize(told_);
    noted_.resize(noted_told_);
    forget_slots();
    begin_span(begin_);
  }
  // The span ends; its open calls are those up to `end`, each with its own path.
  void close(SummedSpan span, const LeftOpen* end) {
    span.paths = static_cast<std::uint32_t>(path_count_);
    span.returned = static_cast<std::uint32_t>(returned_.size() - told_);
    span.open = static_cast<std::uint32_t>(end - frames_.data());
    left_open_.insert(left_open_.end(), frames_.begin(), frames_.begin() + (end - frames_.data()));
    span.noted = static_cast<std::uint32_t>(noted_in_span());
    spans_.push_back(span);
    told_ = returned_.size();
    noted_told_ = noted_.size();
    const std::size_t behind = begin_ + path_count_;
    forget_slots();
    begin_span(behind);
  }
  void clear() {
    if (frames_.empty()) return;  // not opened
    spans_.clear();
    returned_.clear();
    left_open_.clear();
    noted_.clear();
    noted_told_ = 0;
    told_ = 0;
    forget_slots();
    begin_span(0);
  }

  std::span<const SummedSpan> spans() const { return spans_; }
  std::span<const CalledPath> paths() const { return std::span(paths_).first(begin_); }
  std::span<const ReturnedCall> returned() const { return returned_; }
  std::span<const LeftOpen> left_open() const { return left_open_; }
  std::span<const std::uint64_t> noted() const { return noted_; }

 private:
  static constexpr std::size_t kMostPaths = 1 << 12;  // of a span
  static constexpr std::size_t kMostTold = 1 << 13;   // of the spans before: 128 KiB
  static constexpr std::size_t kMostNoted = 1 << 13;  // of all spans
  static constexpr unsigned kSlotsLog2 = 13;
  static constexpr std::size_t kSlots = std::size_t{1} << kSlotsLog2;
  static_assert(2 * kMostPaths <= kSlots);

  static std::size_t first_slot(std::uint32_t parent, std::uint32_t callee) {
    const std::uint64_t hash = (std::uint64_t{parent} << 24 ^ callee) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> (64 - kSlotsLog2));
  }
  // `slot`: where its number is to be found, or kSlots.
  std::uint32_t add(std::uint32_t parent, std::uint32_t callee, std::size_t slot) {
    const auto number = static_cast<std::uint32_t>(path_count_++);
    span_paths()[number] = {.parent = parent, .callee = callee};
    slot_of_[number] = static_cast<std::uint16_t>(slot);
    if (slot != kSlots) numbers_[slot] = static_cast<std::uint16_t>(number + 1);
    return number;
  }
  void forget_slots() {
    for (std::size_t i = 0; i < path_count_; ++i) {
      if (slot_of_[i] != kSlots) numbers_[slot_of_[i]] = 0;
    }
  }
  void begin_span(std::size_t begin) {
    begin_ = begin;
    path_count_ = 0;
    (void)add(0, CalledPath::kOpenBefore, kSlots);
  }

  std::vector<LeftOpen> frames_;
  std::vector<CalledPath> paths_;       // as long as there is room for
  std::size_t begin_ = 0;               // of the span's in paths_,
  std::size_t path_count_ = 0;          // and how many it has
  std::vector<std::uint16_t> slot_of_;  // of the span's paths
  std::vector<std::uint16_t> numbers_;  // of paths, + 1: open addressing, at most half full
  std::vector<SummedSpan> spans_;
  std::vector<ReturnedCall> returned_;
  std::vector<LeftOpen> left_open_;
  std::vector<std::uint64_t> noted_;
  std::size_t told_ = 0;        // of returned_ that are in spans,
  std::size_t noted_told_ = 0;  // and of noted_
};

}  // namespace hodo::flow
