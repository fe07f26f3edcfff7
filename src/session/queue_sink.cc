#include "queue_sink.h"

#include <algorithm>

namespace hodo::session {

bool selected(const Selection& selection, std::int32_t pid, std::int32_t tid) {
  return (!selection.pid || *selection.pid == pid) && (!selection.tid || *selection.tid == tid);
}

Context QueueSink::context(std::size_t turn) const {
  const Occupant& who = occupancy_.turns()[turn];
  Context out = base_;
  out.pid = who.pid;
  out.tid = who.tid;
  out.space = who.space;
  return out;
}

void QueueSink::deliver(std::size_t turn, std::span<const Branch> batch) {
  const Occupant& who = occupancy_.turns()[turn];
  if (stopped_ || batch.empty() || !selected(selection_, who.pid, who.tid)) return;
  stopped_ = !out_.branches(context(turn), batch);
}

void QueueSink::on_branches(std::span<const Branch> batch) {
  if (occupancy_.turns().size() == 1) return deliver(0, batch);
  while (!batch.empty()) {
    // A branch without a time belongs to whoever ran last.
    if (batch.front().time != 0) turn_ = occupancy_.at(batch.front().time);
    std::uint64_t until = occupancy_.until(turn_);
    auto end = std::ranges::find_if(batch, [&](const Branch& b) { return b.time >= until; });
    // The turn is that of the first branch, so there is always progress.
    auto count = std::max<std::size_t>(1, static_cast<std::size_t>(end - batch.begin()));
    deliver(turn_, batch.first(count));
    batch = batch.subspan(count);
  }
}

void QueueSink::on_loss(const flow::Loss& loss) {
  std::size_t turn = loss.time == 0 ? turn_ : occupancy_.at(loss.time);
  Context who = context(turn);
  if (!selected(selection_, who.pid, who.tid)) return;
  std::string_view cause = flow::name(loss.cause);
  std::string reason = loss.reason;
  std::optional<Explanation> better = explain_(who, loss);
  if (better) {
    cause = better->cause;
    reason = std::move(better->reason);
  }
  losses_.add(cause, {who, loss.offset, loss.ip, loss.time, std::move(reason)}, loss.skipped);
}

void QueueSink::on_event(const flow::Event& event) {
  if (event.kind == flow::EventKind::paging) base_.cr3 = event.payload;
}

bool QueueSink::on_progress(std::uint64_t offset) {
  progress_(offset);
  return !stopped_;
}

}  // namespace hodo::session
