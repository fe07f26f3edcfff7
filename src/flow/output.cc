#include "output.h"

#include <utility>

#include "steps.h"

namespace hodo::flow {

Output::Output(const Config& config, const Receivers& to)
    : config_(config),
      to_(to),
      batch_(to.branches == nullptr ? kBatch : kBatch + kMostPathEdges + kEdgesAtOnce),
      lines_(to.runs == nullptr ? 0 : batch_.size()),
      wants_repeats_(to.wants_repeats()),
      wants_lines_(to.branches != nullptr && to.leave_out_jumps && to.branches->wants_lines()) {
  if (wants_repeats_) repeats_.reserve(kMostRepeats);
  if (to.leave_out_jumps) transfers_.open();
  if (to.branches != nullptr && to.leave_out_jumps) call_judge_ = to.branches->call_judge();
  if (call_judge_ != nullptr && wants_lines_) calls_.open();
  if (to.leave_out_jumps && !wants_lines_) call_sums_.open();
  if (to.passages) passages_.open();
}

void Output::branch(Branch branch) {
  const bool not_taken = (branch.flags & kNotTaken) != 0;
  if (not_taken) ++stats_.not_taken;
  // One that ends the trace is shown all the same: it left the filter by falling through.
  if (not_taken && (branch.flags & kTraceEnd) == 0 && !config_.want_not_taken) {
    ++dropped_;
    return;
  }
  if (!not_taken) ++stats_.branches[static_cast<std::size_t>(branch.kind)];
  end_row();
  branch.insns = saturate_insns(std::exchange(pending_insns_, 0));
  if (used_ == batch_.size()) grow();
  told_time_ = branch.time;
  if (to_.runs != nullptr) lines_[used_] = std::exchange(line_, line_behind(branch));
  batch_[used_++] = branch;
}

void Output::start_over() {
  stats_ = {};
  used_ = 0;
  repeats_.clear();
  if (to_.leave_out_jumps) transfers_.open();
  passages_.clear();
  calls_.clear();
  call_sums_.clear();
  left_out_last({});
  ran_.clear();
  instructions_.clear();
  pending_insns_ = 0;
  line_ = kLineFromBefore;
  dropped_ = 0;
  tell_next();
}

void Output::grow() {
  batch_.resize(2 * batch_.size());
  if (to_.runs != nullptr) lines_.resize(batch_.size());
}

void Output::take_back(const Mark& mark) {
  for (const Branch& branch : between(mark, this->mark())) {
    if ((branch.flags & kNotTaken) != 0) {
      --stats_.not_taken;
    } else {
      --stats_.branches[static_cast<std::size_t>(branch.kind)];
    }
  }
  stats_.not_taken -= dropped_ - mark.dropped;
  dropped_ = mark.dropped;
  used_ = mark.branches;
  tell_next();
  instructions_.resize(mark.instructions);
  stats_.instructions = mark.counted_insns;
  pending_insns_ = mark.pending_insns;
  line_ = mark.line;
}

void Output::event(const Event& event) {
  flush();
  ++stats_.events[static_cast<std::size_t>(event.kind)];
  to_.listener.on_event(event);
}

void Output::loss(Loss loss) {
  flush();
  ++stats_.losses[static_cast<std::size_t>(loss.cause)];
  stats_.skipped_bytes += loss.skipped;
  to_.listener.on_loss(loss);
}

void Output::flush() {
  if (!instructions_.empty() && to_.branches != nullptr) {
    to_.branches->on_instructions(instructions_);
  }
  end_row();
  const Branch last = left_out_last();
  if (passed_counts_ != nullptr) passed_counts_->take_passed(passed_);
  if (used_ != 0 || !repeats_.empty() || !passages_.empty() || !transfers_.empty() ||
      !ran_.empty() || !passed_.empty()) {
    hand_on(std::span(batch_).first(used_));
  }
  used_ = 0;
  left_out_last(last);
  ran_.clear();
  repeats_.clear();
  passages_.clear();
  transfers_.clear();
  calls_.clear();
  call_sums_.clear();
  passed_.clear();
  instructions_.clear();
  ++flushes_;
}

void Output::hand_on(std::span<const Branch> branches) {
  if (to_.passages && repeats_.empty()) {
    to_.branches->on_passages({.walked = branches,
                               .list = passages_.list(),
                               .entries = passages_.entries(),
                               .returns = passages_.returns(),
                               .addresses = passages_.addresses(),
                               .reader = reader_});
  } else if (wants_repeats_ && memo_ != nullptr) {
    to_.branches->on_repeats({.walked = branches,
                              .list = repeats_,
                              .memory = memo_->number(),
                              .numbers = memo_->numbers(),
                              .edges = memo_->edge_list()});
  } else if (to_.leave_out_jumps) {
    to_.branches->on_transfers(
        {.walked = branches,
         .rows = transfers_.rows(),
         .list = transfers_.list(),
         .book = book_,
         .last = left_out_last(),
         .lines = ran_,
         .spans = calls_.spans(),
         .returned = wants_lines_ ? calls_.returned() : call_sums_.returned(),
         .opened = calls_.opened(),
         .singles = calls_.singles(),
         .passed = passed_,
         .noted = wants_lines_ ? calls_.noted() : call_sums_.noted(),
         .summed = call_sums_.spans(),
         .paths = call_sums_.paths(),
         .left_open = call_sums_.left_open()});
  } else if (to_.branches != nullptr) {
    to_.branches->on_branches(branches);
  }
  if (to_.edges != nullptr) {
    edges_.clear();
    for (const Branch& b : branches) edges_.push_back({b.from, b.to, 1, b.kind, b.flags});
    to_.edges->on_edges(edges_);
  }
  if (to_.runs != nullptr) {
    runs_.clear();
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const Branch& b = branches[i];
      runs_.push_back({{b.from, b.to, 1, b.kind, b.flags}, lines_[i], b.time, b.insns});
    }
    to_.runs->on_runs(runs_);
  }
}

void Output::settle(PathMemo& memo) {
  const Tally& tally = memo.settle();
  stats_ += tally.stats();
  if (tally.edges().empty()) return;
  if (to_.edges != nullptr) to_.edges->on_edges(tally.edges());
  if (to_.runs == nullptr) return;
  runs_.clear();
  for (std::size_t i = 0; i < tally.edges().size(); ++i) {
    const PathMemo::Line& line = memo.line(tally.numbers()[i]);
    const Branch& edge = memo.edges()[tally.numbers()[i]];
    runs_.push_back({tally.edges()[i], line.begin, line.time, edge.insns});
  }
  to_.runs->on_runs(runs_);
}

void Output::settle(StepGraph& graph) { graph.settle(stats_, to_); }

}  // namespace hodo::flow
