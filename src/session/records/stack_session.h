// A perf.data file whose samples hold branch stacks (LBR, AMD BRS and LbrExtV2) as a session.
#pragma once

#include <memory>
#include <vector>

#include "record_session.h"

namespace hodo::session {

// Each sample is a window of some branches; its entries come oldest first, behind a `begin` with
// kResync at the oldest one's source: nothing joins two windows. All samples are one queue, in
// order of time. A branch has its sample's time, by which it had happened. Entries that are all
// zero are registers that were never written, and no branches; nor are those of a wrong path, which
// are counted.
class StackSession final : public RecordSession {
 public:
  explicit StackSession(OpenedFile file);

  std::span<const Queue> queues() const override { return {&queue_, 1}; }
  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) override;
  Result<std::vector<LossLine>> records(RecordSink& sink) const override;

 private:
  class Windows;

  Queue queue_;
};

}  // namespace hodo::session
