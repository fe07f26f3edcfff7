// Writes the branches of steps (steps.h) where the decoder goes by them, and counts them: steps
// that are written have no counts.
#pragma once

#include <cstdint>

#include "output.h"
#include "steps.h"

namespace hodo::flow {

// With kLeavesOut: without the jumps that the sink leaves out (BranchSink::leaves_out_jumps).
template <bool kLeavesOut>
class StepPen {
 public:
  // Lives for a packet, of `time`. Both must outlive it, and nobody else may write meanwhile.
  StepPen(StepGraph& graph, Output& out, std::uint64_t time)
      : graph_(graph),
        out_(out),
        time_(time),
        not_taken_(out.wants_not_taken()),
        at_(out.pen()),
        full_(at_ + Output::kMostAtOnce),
        pending_(out.pending_insns()),
        leaves_out_(kLeavesOut && out.told_time() == time && pending_ < kMostPending) {}
  ~StepPen() {
    out_.put(at_, pending_);
    if (kLeavesOut && !leaves_out_) out_.tell_next();
    Stats& stats = out_.stats();
    stats.instructions += instructions_;
    if constexpr (kLeavesOut) {
      stats.not_taken += not_taken_left_out_;
      stats.branches[static_cast<std::size_t>(BranchKind::cond)] += taken_left_out_;
      stats.branches[static_cast<std::size_t>(BranchKind::jmp)] += jumps_left_out_;
    }
  }
  StepPen(const StepPen&) = delete;
  StepPen& operator=(const StepPen&) = delete;

  // `step` is that of `here`.
  [[gnu::always_inline]] void outcome(const Step& step, Link here, bool taken) {
    if constexpr (kLeavesOut) {
      const std::uint32_t what = step.count[taken ? 1 : 0];
      if ((what & leaving::kAll) != 0 && leaves_out_) [[likely]] {
        pending_ += leaving::insns(what);
        instructions_ += leaving::insns(what);
        jumps_left_out_ += leaving::jumps(what);
        ++(taken ? taken_left_out_ : not_taken_left_out_);
        return;
      }
      if ((what & leaving::kAsked) == 0) graph_.ask(here, taken, *out_.leaves_out());
    }
    end_with(here, taken, kLeavesOut && (step.count[taken ? 1 : 0] & leaving::kEnd) != 0);
  }
  void packet(const Step& step, Link here, Link /*to*/, std::uint64_t ip) {
    if constexpr (kLeavesOut) {
      if ((step.count[0] & leaving::kAsked) == 0) graph_.ask(here, false, *out_.leaves_out());
    }
    const StepGraph::Shown& shown = graph_.shown(here);
    lead_to_end(shown);
    take(shown.at, ip, shown.kind, shown.flags);
  }

 private:
  // A branch has room for four times as many.
  static constexpr std::uint64_t kMostPending = std::uint64_t{1} << 30;

  // `left_out`: the jump at the end, if jumps are.
  void end_with(Link here, bool taken, bool left_out) {
    const StepGraph::Shown& shown = graph_.shown(here);
    lead_to_end(shown);
    if (taken) return take(shown.at, shown.to, BranchKind::cond, left_out ? leaving::kThis : 0);
    ++out_.stats().not_taken;
    leaves_out_ = leaves_out_ && left_out;
    if (not_taken_) {
      write(shown.at, graph_.outcome_ip(here, false), BranchKind::cond, kNotTaken);
    }
  }
  void lead_to_end(const StepGraph::Shown& shown) {
    if (shown.edge_count != 0) on_the_way(shown);
    pending_ += shown.tail;
    instructions_ += shown.tail;
  }
  void on_the_way(const StepGraph::Shown& shown) {
    for (const Branch& edge : graph_.edges(shown)) {
      pending_ += edge.insns;
      instructions_ += edge.insns;
      take(edge.from, edge.to, edge.kind, edge.flags);
    }
  }
  void take(std::uint64_t from, std::uint64_t to, BranchKind kind, std::uint8_t flags) {
    ++out_.stats().branches[static_cast<std::size_t>(kind)];
    if constexpr (kLeavesOut) {
      if ((flags & leaving::kThis) != 0 && leaves_out_) return;
      flags &= static_cast<std::uint8_t>(~leaving::kThis);
    }
    write(from, to, kind, flags);
  }
  void write(std::uint64_t from, std::uint64_t to, BranchKind kind, std::uint8_t flags) {
    *at_++ = {.from = from,
              .to = to,
              .time = time_,
              .insns = saturate_insns(pending_),
              .kind = kind,
              .flags = flags};
    pending_ = 0;
    if constexpr (kLeavesOut) leaves_out_ = true;
    if (at_ == full_) turn_over();
  }
  [[gnu::noinline]] void turn_over() {
    out_.put(at_, pending_);
    at_ = out_.pen();
    full_ = at_ + Output::kMostAtOnce;
  }

  StepGraph& graph_;
  Output& out_;
  const std::uint64_t time_;
  const bool not_taken_;
  Branch* at_;
  Branch* full_;
  std::uint64_t pending_;
  std::uint64_t instructions_ = 0;
  bool leaves_out_;  // the next jump need not come
  std::uint32_t not_taken_left_out_ = 0;
  std::uint32_t taken_left_out_ = 0;
  std::uint32_t jumps_left_out_ = 0;
};

class NoPen {
 public:
  NoPen(StepGraph&, Output&, std::uint64_t) {}
  void outcome(const Step&, Link, bool) {}
  void packet(const Step&, Link, Link, std::uint64_t) {}
};

}  // namespace hodo::flow
