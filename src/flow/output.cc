#include "output.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hodo::flow {

Output::Output(const Config& config, BranchSink& sink) : config_(config), sink_(sink) {
  batch_.reserve(kBatch + 64);
}

void Output::branch(Branch branch) {
  // One that ends the trace is shown all the same: it left the filter by falling through.
  if ((branch.flags & (kNotTaken | kTraceEnd)) == kNotTaken && !config_.want_not_taken) {
    ++stats_.not_taken;
    return;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  branch.insns = static_cast<std::uint32_t>(std::min(pending_insns_, kMost));
  stats_.instructions += std::exchange(pending_insns_, 0);
  batch_.push_back(branch);
}

void Output::take_back(const Mark& mark) {
  batch_.resize(mark.branches);
  instructions_.resize(mark.instructions);
  stats_.instructions = mark.counted_insns;
  pending_insns_ = mark.pending_insns;
}

void Output::finish() {
  stats_.instructions += std::exchange(pending_insns_, 0);
  flush();
}

void Output::event(const Event& event) {
  flush();
  ++stats_.events[static_cast<std::size_t>(event.kind)];
  sink_.on_event(event);
}

void Output::loss(Loss loss) {
  flush();
  ++stats_.losses[static_cast<std::size_t>(loss.cause)];
  stats_.skipped_bytes += loss.skipped;
  sink_.on_loss(loss);
}

void Output::flush() {
  for (const Branch& branch : batch_) {
    if ((branch.flags & kNotTaken) != 0) {
      ++stats_.not_taken;
    } else {
      ++stats_.branches[static_cast<std::size_t>(branch.kind)];
    }
  }
  if (!instructions_.empty()) sink_.on_instructions(instructions_);
  if (!batch_.empty()) sink_.on_branches(batch_);
  batch_.clear();
  instructions_.clear();
}

}  // namespace hodo::flow
