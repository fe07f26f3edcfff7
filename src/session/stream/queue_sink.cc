#include "queue_sink.h"

#include <algorithm>

#include "drakvuf_marks.h"
#include "hodo/flow/transfers.h"

namespace hodo::session {

bool selected(const Selection& selection, std::int32_t pid, std::int32_t tid) {
  return (!selection.pid || *selection.pid == pid) && (!selection.tid || *selection.tid == tid);
}

Context QueueListener::context(std::size_t turn) const {
  const Occupant& who = occupancy_.turns()[turn];
  Context out = base_;
  out.space = who.space;
  if (unknown()) return out;  // but for what marks in the stream have said
  out.pid = who.pid;
  out.tid = who.tid;
  return out;
}

std::optional<Context> QueueListener::wanted() const {
  Context who = context(turn_);
  if (!selected(selection_, who.pid, who.tid)) return std::nullopt;
  return who;
}

void QueueListener::on_loss(const flow::Loss& loss) {
  std::size_t turn = loss.time == 0 ? turn_ : occupancy_.at(loss.time);
  Context who = context(turn);
  if (!selected(selection_, who.pid, who.tid)) return;
  std::string_view cause = flow::name(loss.cause);
  std::string reason = loss.reason;
  std::optional<Explanation> better = explain_(who, loss);
  if (better && better->cause.empty()) return;
  if (better) {
    cause = better->cause;
    reason = std::move(better->reason);
  }
  losses_.add(cause, {who, loss.offset, loss.ip, loss.last_ip, loss.time, std::move(reason)},
              loss.skipped);
}

void QueueListener::on_event(const flow::Event& event) {
  if (event.kind == flow::EventKind::paging) base_.cr3 = event.payload;
  if (unknown()) apply_drakvuf_mark(event, base_);
}

bool QueueListener::on_progress(std::uint64_t offset) { return progress_(offset); }

void QueueSink::deliver(std::span<const Branch> batch) {
  if (stopped_ || batch.empty()) return;
  if (const auto who = listener_.wanted()) stopped_ = !out_.branches(*who, batch);
}

void QueueSink::on_branches(std::span<const Branch> batch) {
  if (listener_.occupancy().turns().size() == 1) return deliver(batch);
  while (!batch.empty()) {
    // A branch without a time belongs to whoever ran last.
    if (batch.front().time != 0) listener_.move_to(batch.front().time);
    std::uint64_t until = listener_.occupancy().until(listener_.turn());
    auto end = std::ranges::find_if(batch, [&](const Branch& b) { return b.time >= until; });
    // The turn is that of the first branch, so there is always progress.
    auto count = std::max<std::size_t>(1, static_cast<std::size_t>(end - batch.begin()));
    deliver(batch.first(count));
    batch = batch.subspan(count);
  }
}

void QueueSink::on_repeats(const flow::Repeats& batch) {
  if (stopped_ || batch.empty()) return;
  if (const auto who = listener_.wanted()) stopped_ = !out_.repeats(*who, batch);
}

void QueueSink::on_transfers(const flow::Transfers& batch) {
  if (stopped_ || batch.empty()) return;
  if (const auto who = listener_.wanted()) stopped_ = !out_.transfers(*who, batch);
}

void QueueSink::on_passages(const flow::Passages& batch) {
  if (stopped_ || batch.empty()) return;
  if (const auto who = listener_.wanted()) stopped_ = !out_.passages(*who, batch);
}

void QueueRuns::on_runs(std::span<const flow::RunCount> runs) {
  if (stopped_ || runs.empty()) return;
  if (const auto who = listener_.wanted()) stopped_ = !out_.runs(*who, runs);
}

}  // namespace hodo::session
