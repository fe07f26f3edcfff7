// Writes the branches of steps (steps.h) where the decoder goes by them, and counts them: steps
// that are written have no counts.
#pragma once

#include <cstdint>

#include "output.h"
#include "steps.h"

namespace hodo::flow {

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
        pending_(out.pending_insns()) {}
  ~StepPen() {
    out_.put(at_, pending_);
    out_.stats().instructions += instructions_;
  }
  StepPen(const StepPen&) = delete;
  StepPen& operator=(const StepPen&) = delete;

  // `step` is that of `here`.
  [[gnu::always_inline]] void outcome(const Step& /*step*/, Link here, bool taken) {
    const StepGraph::Shown& shown = graph_.shown(here);
    lead_to_end(shown);
    if (taken) return take(shown.at, shown.to, BranchKind::cond, 0);
    ++out_.stats().not_taken;
    if (not_taken_) {
      write(shown.at, graph_.outcome_ip(here, false), BranchKind::cond, kNotTaken);
    }
  }
  void packet(const Step& /*step*/, Link here, Link /*to*/, std::uint64_t ip) {
    const StepGraph::Shown& shown = graph_.shown(here);
    lead_to_end(shown);
    take(shown.at, ip, shown.kind, shown.flags);
  }

 private:
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
};

class NoPen {
 public:
  NoPen(StepGraph&, Output&, std::uint64_t) {}
  void outcome(const Step&, Link, bool) {}
  void packet(const Step&, Link, Link, std::uint64_t) {}
};

}  // namespace hodo::flow
