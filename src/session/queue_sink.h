// Between the flow decoder and the session's user: says who executed, and explains losses.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hodo/flow/decoder.h"
#include "hodo/session/loss.h"
#include "hodo/session/options.h"
#include "hodo/session/sink.h"
#include "occupancy.h"

namespace hodo::session {

// A cause that is nearer to the truth than the decoder's, with the reason in words.
struct Explanation {
  std::string_view cause;
  std::string reason;
};
using ExplainFunction =
    std::function<std::optional<Explanation>(const Context&, const flow::Loss&)>;

class QueueSink final : public flow::BranchSink {
 public:
  // All references must outlive the sink. `base` has the queue's identity.
  QueueSink(const Context& base, const Occupancy& occupancy, const Selection& selection,
            session::BranchSink& out, LossTally& losses, ExplainFunction explain,
            std::function<void(std::uint64_t)> progress)
      : base_(base),
        occupancy_(occupancy),
        selection_(selection),
        out_(out),
        losses_(losses),
        explain_(std::move(explain)),
        progress_(std::move(progress)) {}

  void on_branches(std::span<const Branch> batch) override;
  void on_loss(const flow::Loss& loss) override;
  void on_event(const flow::Event& event) override;
  bool on_progress(std::uint64_t offset) override;

  // The user wants no more.
  bool stopped() const { return stopped_; }

 private:
  Context context(std::size_t turn) const;
  void deliver(std::size_t turn, std::span<const Branch> batch);

  Context base_;
  const Occupancy& occupancy_;
  Selection selection_;
  session::BranchSink& out_;
  LossTally& losses_;
  ExplainFunction explain_;
  std::function<void(std::uint64_t)> progress_;  // gets offsets in the stream
  std::size_t turn_ = 0;
  bool stopped_ = false;
};

// Whether a task belongs to what the user selected.
bool selected(const Selection& selection, std::int32_t pid, std::int32_t tid);

}  // namespace hodo::session
