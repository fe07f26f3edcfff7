// The spans of a batch of transfers, one after the other: all of one kind, as the batch has them.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "call_judging.h"
#include "hodo/flow/transfers.h"

namespace hodo::analyze {

class CallSpans {
 public:
  struct Span {
    const flow::CallSpan& sums;
    std::span<const flow::ReturnedCall> returned;
    std::span<const flow::OpenedCall> opened;
    std::span<const flow::SingleCall> singles;
    std::span<const std::uint64_t> noted;
  };

  // Both must outlive this.
  CallSpans(const flow::Transfers& batch, const CallJudging& judging)
      : judging_(judging),
        spans_(batch.spans),
        returned_(batch.returned),
        opened_(batch.opened),
        singles_(batch.singles),
        summed_(batch.summed),
        paths_(batch.paths),
        left_open_(batch.left_open),
        noted_(batch.noted) {}

  Span next() {
    const flow::CallSpan& sums = spans_.front();
    spans_ = spans_.subspan(1);
    return {sums, first(returned_, sums.returned), first(opened_, sums.opened),
            first(singles_, sums.singles), first(noted_, sums.noted)};
  }

  bool are_summed() const { return !summed_.empty(); }
  struct Summed {
    const flow::SummedSpan& sums;
    std::span<const flow::CalledPath> paths;
    std::span<const flow::ReturnedCall> returned;
    std::span<const flow::LeftOpen> open;
    std::span<const std::uint64_t> noted;
  };
  Summed next_summed() {
    const flow::SummedSpan& sums = summed_.front();
    summed_ = summed_.subspan(1);
    return {sums, first(paths_, sums.paths), first(returned_, sums.returned),
            first(left_open_, sums.open), first(noted_, sums.noted)};
  }
  CallJudging::Callee callee(std::uint32_t number) const { return judging_.callee(number); }

 private:
  template <class T>
  static std::span<const T> first(std::span<const T>& all, std::size_t count) {
    const auto out = all.first(count);
    all = all.subspan(count);
    return out;
  }

  const CallJudging& judging_;
  std::span<const flow::CallSpan> spans_;
  std::span<const flow::ReturnedCall> returned_;
  std::span<const flow::OpenedCall> opened_;
  std::span<const flow::SingleCall> singles_;
  std::span<const flow::SummedSpan> summed_;
  std::span<const flow::CalledPath> paths_;
  std::span<const flow::LeftOpen> left_open_;
  std::span<const std::uint64_t> noted_;
};

}  // namespace hodo::analyze
