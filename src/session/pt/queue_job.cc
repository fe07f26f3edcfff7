#include "queue_job.h"

#include <algorithm>

namespace hodo::session {

bool is_wanted(const Occupancy& occupancy, const Selection& selection) {
  // The stream itself may tell.
  if (occupancy.turns().size() == 1 && occupancy.turns()[0].pid < 0) return true;
  return std::ranges::any_of(occupancy.turns(), [&](const Occupant& who) {
    return selected(selection, who.pid, who.tid);
  });
}

Context context_of(std::size_t index, const Queue& queue, const Occupancy& occupancy) {
  Context who{.queue = static_cast<std::uint32_t>(index), .cpu = queue.cpu};
  if (occupancy.turns().size() != 1) return who;
  who.pid = occupancy.turns()[0].pid;
  who.tid = occupancy.turns()[0].tid;
  who.space = occupancy.turns()[0].space;
  return who;
}

QueueListener listener_of(PtInput& input, const QueueJob& job, const Selection& selection) {
  const auto begins_with = [&input, &job](const flow::Loss& loss) {
    return loss.cause == flow::LossCause::head_cut && input.snapshot() &&
           loss.skipped < job.pieces.front().bytes.size();
  };
  auto explanation = [&input, begins_with](const Context& who, const flow::Loss& loss) {
    return begins_with(loss) ? std::optional(Explanation{}) : input.explain(who, loss);
  };
  return {job.who, job.occupancy, selection, job.losses, explanation, job.progress};
}

std::uint64_t done_of(const Queue& queue, std::span<const flow::Piece> pieces,
                      std::uint64_t offset) {
  const std::uint64_t first = pieces.empty() ? 0 : pieces.front().offset;
  return std::min(offset - std::min(offset, first), queue.bytes);
}

}  // namespace hodo::session
