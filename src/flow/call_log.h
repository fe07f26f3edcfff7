// The spans of a batch (CallSpan), and the one that is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hodo/flow/call_spans.h"

namespace hodo::flow {

// How many calls of each callee began and ended in spans, until somebody takes it.
class PassedCounts {
 public:
  // `callee` is less than size(). Calls may be taken off before they are added.
  void add(std::uint32_t callee, std::uint32_t times = 1) {
    if (counts_[callee] == 0) some_.push_back(callee);
    counts_[callee] += times;
  }
  void take_off(std::uint32_t callee) { add(callee, ~std::uint32_t{0}); }
  std::size_t size() const { return counts_.size(); }
  void make_room(std::size_t size) { counts_.resize(size); }
  void take(std::vector<PassedCalls>& out) {
    for (const std::uint32_t callee : some_) {
      const std::uint32_t times = std::exchange(counts_[callee], 0);
      if (times != 0) out.push_back({callee, times});
    }
    some_.clear();
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> some_;  // all that are not 0
};

class CallLog {
 public:
  // Calls that are open in a span at most, and returns to below it: 32 KiB.
  static constexpr std::size_t kMostOpen = 1 << 10;
  static constexpr std::size_t kMostReturned = 1 << 8;

  // Nothing may be written before; what was is forgotten.
  void open() {
    frames_.resize(kMostOpen);
    clear();
  }
  // Where the calls of the span begin that is being written; from limit() on it has to end.
  OpenedCall* frames() { return frames_.data(); }
  const OpenedCall* limit() const { return frames_.data() + frames_.size(); }

  void returned(const ReturnedCall& call) { returned_.push_back(call); }
  void single(const SingleCall& call) { singles_.push_back(call); }
  // A call of the span has returned (CallOp::noted).
  void note(std::uint64_t to) {
    if (noted_.size() == told_noted_ || noted_.back() != to) noted_.push_back(to);
  }
  // So many that the batch should end: they have 64 KiB.
  bool has_many_told() const {
    return singles_.size() >= kManySingles || noted_.size() >= kManyNoted;
  }
  std::size_t returned_in_span() const { return returned_.size() - told_; }
  std::size_t noted_in_span() const { return noted_.size() - told_noted_; }
  // The span ends; its open calls are those up to `end`.
  void close(CallSpan span, const OpenedCall* end) {
    span.returned = static_cast<std::uint32_t>(returned_in_span());
    span.opened = static_cast<std::uint32_t>(end - frames_.data());
    span.singles = static_cast<std::uint32_t>(singles_.size() - told_singles_);
    span.noted = static_cast<std::uint32_t>(noted_in_span());
    told_singles_ = singles_.size();
    told_noted_ = noted_.size();
    opened_.insert(opened_.end(), frames_.begin(), frames_.begin() + (end - frames_.data()));
    told_ = returned_.size();
    spans_.push_back(span);
  }
  // What has been written of the span, before it ends.
  std::span<const std::uint64_t> span_noted() const {
    return std::span(noted_).subspan(told_noted_);
  }
  // As if the span had not begun.
  void forget_span() {
    returned_.resize(told_);
    singles_.resize(told_singles_);
    noted_.resize(told_noted_);
  }
  void clear() {
    spans_.clear();
    returned_.clear();
    opened_.clear();
    singles_.clear();
    noted_.clear();
    told_ = told_singles_ = told_noted_ = 0;
  }

  std::span<const CallSpan> spans() const { return spans_; }
  std::span<const ReturnedCall> returned() const { return returned_; }
  std::span<const OpenedCall> opened() const { return opened_; }
  std::span<const SingleCall> singles() const { return singles_; }
  std::span<const std::uint64_t> noted() const { return noted_; }

 private:
  static constexpr std::size_t kManySingles = 1 << 11;
  static constexpr std::size_t kManyNoted = 1 << 13;

  std::vector<OpenedCall> frames_;
  std::vector<CallSpan> spans_;
  std::vector<ReturnedCall> returned_;
  std::vector<OpenedCall> opened_;
  std::vector<SingleCall> singles_;
  std::vector<std::uint64_t> noted_;
  std::size_t told_ = 0;          // of returned_ that are in spans,
  std::size_t told_singles_ = 0;  // of singles_,
  std::size_t told_noted_ = 0;    // and of noted_
};

}  // namespace hodo::flow
