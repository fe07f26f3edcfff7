// Between the flow decoder and the session's user: says who executed, and explains losses.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "hodo/flow/decoder.h"
#include "hodo/session/loss.h"
#include "hodo/session/options.h"
#include "hodo/session/sink.h"
#include "occupancy.h"

namespace hodo::session {

// A cause that is nearer to the truth than the decoder's, with the reason in words. Without a
// cause: nothing was lost that was promised.
struct Explanation {
  std::string_view cause;
  std::string reason;
};
using ExplainFunction =
    std::function<std::optional<Explanation>(const Context&, const flow::Loss&)>;

// What all users of a queue have in common.
class QueueListener : public flow::Listener {
 public:
  // All references must outlive the listener. `base` has the queue's identity; `progress` gets
  // offsets in the stream; false stops.
  QueueListener(const Context& base, const Occupancy& occupancy, const Selection& selection,
                LossTally& losses, ExplainFunction explain,
                std::function<bool(std::uint64_t)> progress)
      : base_(base),
        occupancy_(occupancy),
        selection_(selection),
        losses_(losses),
        explain_(std::move(explain)),
        progress_(std::move(progress)) {}

  void on_loss(const flow::Loss& loss) override;
  void on_event(const flow::Event& event) override;
  bool on_progress(std::uint64_t offset) override;

  // Branches of this time are next.
  void move_to(std::uint64_t time) { turn_ = occupancy_.at(time); }
  const Occupancy& occupancy() const { return occupancy_; }
  std::size_t turn() const { return turn_; }
  // Who executes in the present turn, if the user wants that one.
  std::optional<Context> wanted() const;
  // Nothing outside of the stream says who ran, as of a bare one.
  bool unknown() const { return occupancy_.turns().size() == 1 && occupancy_.turns()[0].pid < 0; }

 private:
  Context context(std::size_t turn) const;

  Context base_;
  const Occupancy& occupancy_;
  Selection selection_;
  LossTally& losses_;
  ExplainFunction explain_;
  std::function<bool(std::uint64_t)> progress_;
  std::size_t turn_ = 0;
};

class QueueSink final : public flow::BranchSink {
 public:
  // `out` must outlive the sink.
  QueueSink(QueueListener listener, session::BranchSink& out)
      : listener_(std::move(listener)), out_(out), who_(listener_.wanted()) {}

  void on_branches(std::span<const Branch> batch) override;
  bool wants_repeats() const override {
    return out_.wants_repeats() && listener_.occupancy().turns().size() == 1;
  }
  void on_repeats(const flow::Repeats& batch) override;
  bool leaves_out_jumps() const override {
    return out_.leaves_out_jumps() && listener_.occupancy().turns().size() == 1;
  }
  bool may_leave_out(std::uint64_t line, const Branch& jump) const override {
    return !who_ || out_.may_leave_out(*who_, line, jump);
  }
  bool wants_lines() const override { return out_.wants_lines(); }
  const flow::CallJudge* call_judge() const override {
    return who_ ? out_.call_judge(*who_) : nullptr;
  }
  void on_transfers(const flow::Transfers& batch) override;
  bool wants_passages() const override {
    return out_.wants_passages() && listener_.occupancy().turns().size() == 1;
  }
  Judged judged(const Branch& branch, std::uint64_t next) override {
    return who_ ? out_.judged(*who_, branch, next) : Judged::passes;
  }
  std::uint64_t judged_by(std::uint64_t time) override {
    return who_ ? out_.judged_by(*who_, time) : 0;
  }
  void on_passages(const flow::Passages& batch) override;
  // As long as it is the same who executes.
  bool writes() const override {
    return out_.writes() && listener_.occupancy().turns().size() == 1 && !listener_.unknown() &&
           who_ && listener_.wanted() == who_;
  }
  std::unique_ptr<flow::BranchWriter> writer() const override { return out_.writer(*who_); }
  void on_written(std::string_view text) override {
    if (!stopped_) stopped_ = !out_.written(text);
  }
  void on_loss(const flow::Loss& loss) override { listener_.on_loss(loss); }
  void on_event(const flow::Event& event) override { listener_.on_event(event); }
  bool on_progress(std::uint64_t offset) override {
    return listener_.on_progress(offset) && !stopped_;
  }

  // The user wants no more.
  bool stopped() const { return stopped_; }

 private:
  void deliver(std::span<const Branch> batch);

  QueueListener listener_;
  session::BranchSink& out_;
  const std::optional<Context> who_;  // at the beginning; of one occupant, always
  bool stopped_ = false;
};

// The same for counts, of a queue with one occupant.
class QueueRuns final : public flow::RunSink {
 public:
  QueueRuns(QueueListener listener, session::RunSink& out)
      : listener_(std::move(listener)), out_(out) {}

  void on_runs(std::span<const flow::RunCount> runs) override;
  void on_loss(const flow::Loss& loss) override { listener_.on_loss(loss); }
  void on_event(const flow::Event& event) override { listener_.on_event(event); }
  bool on_progress(std::uint64_t offset) override {
    return listener_.on_progress(offset) && !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  QueueListener listener_;
  session::RunSink& out_;
  bool stopped_ = false;
};

// Whether a task belongs to what the user selected.
bool selected(const Selection& selection, std::int32_t pid, std::int32_t tid);

}  // namespace hodo::session
