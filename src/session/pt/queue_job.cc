#include "queue_job.h"

#include <algorithm>
#include <iterator>

namespace hodo::session {

bool is_wanted(const Occupancy& occupancy, const Selection& selection) {
  // The stream itself may tell.
  if (occupancy.turns().size() == 1 && occupancy.turns()[0].pid < 0) return true;
  return std::ranges::any_of(occupancy.turns(), [&](const Occupant& who) {
    return selected(selection, who.pid, who.tid);
  });
}

Extent extent_of(std::span<const Part> parts) {
  if (parts.empty()) return {};
  const auto gap = std::ranges::find_if(parts.subspan(1), &Part::gap_before);
  const auto end_of = [](const Part& part) { return part.offset + part.size; };
  return {.begin = parts.front().offset,
          .first_end = end_of(*std::prev(gap)),
          .end = end_of(parts.back())};
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
           loss.skipped < job.extent.first_end - job.extent.begin;
  };
  auto explanation = [&input, begins_with](const Context& who, const flow::Loss& loss) {
    return begins_with(loss) ? std::optional(Explanation{}) : input.explain(who, loss);
  };
  return {job.who, job.occupancy, selection, job.losses, explanation, job.progress};
}

std::uint64_t done_of(const Queue& queue, const Extent& extent, std::uint64_t offset) {
  return std::min(offset - std::min(offset, extent.begin), queue.bytes);
}

}  // namespace hodo::session
