// A queue's sink that hears of checkpoints, too.
#pragma once

#include <utility>

#include "hodo/session/parts.h"
#include "stream/queue_sink.h"

namespace hodo::session {

class MarkedSink final : public flow::CheckpointSink {
 public:
  // `out` must outlive the sink.
  MarkedSink(QueueListener listener, const Context& who, session::CheckpointSink& out)
      : branches_(std::move(listener), out), who_(who), out_(out) {}

  void on_branches(std::span<const Branch> batch) override { branches_.on_branches(batch); }
  bool leaves_out_jumps() const override { return branches_.leaves_out_jumps(); }
  bool may_leave_out(std::uint64_t line, const Branch& jump) const override {
    return branches_.may_leave_out(line, jump);
  }
  bool wants_lines() const override { return branches_.wants_lines(); }
  const flow::CallJudge* call_judge() const override { return branches_.call_judge(); }
  void on_transfers(const flow::Transfers& batch) override { branches_.on_transfers(batch); }
  void on_loss(const flow::Loss& loss) override { branches_.on_loss(loss); }
  void on_event(const flow::Event& event) override { branches_.on_event(event); }
  bool on_progress(std::uint64_t offset) override { return branches_.on_progress(offset); }
  void on_checkpoint(const flow::Checkpoint& checkpoint) override {
    if (!branches_.stopped()) out_.checkpoint(who_, checkpoint);
  }
  bool stopped() const { return branches_.stopped(); }

 private:
  QueueSink branches_;
  Context who_;
  session::CheckpointSink& out_;
};

}  // namespace hodo::session
