// The spans of a batch of transfers, one after the other.
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
  };

  // Both must outlive this.
  CallSpans(const flow::Transfers& batch, const CallJudging& judging)
      : judging_(judging), spans_(batch.spans), returned_(batch.returned), opened_(batch.opened) {}

  Span next() {
    const flow::CallSpan& sums = spans_.front();
    spans_ = spans_.subspan(1);
    return {sums, first(returned_, sums.returned), first(opened_, sums.opened)};
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
};

}  // namespace hodo::analyze
