// For users who ask how often code ran (RunSink), of recordings that list every branch: each
// branch becomes the run of code before it, once.
#pragma once

#include <optional>
#include <vector>

#include "hodo/session/sink.h"

namespace hodo::session {

class RunsFromBranches final : public BranchSink {
 public:
  // `sink` must outlive this.
  explicit RunsFromBranches(RunSink& sink) : sink_(sink) {}
  bool branches(const Context& context, std::span<const Branch> batch) override {
    if (queue_ != context.queue) line_ = 0;
    queue_ = context.queue;
    runs_.clear();
    for (const Branch& b : batch) {
      runs_.push_back({{b.from, b.to, 1, b.kind, b.flags}, line_, b.time, b.insns});
      line_ = flow::line_behind(b);
    }
    return sink_.runs(context, runs_);
  }

 private:
  RunSink& sink_;
  std::vector<flow::RunCount> runs_;
  std::optional<std::uint32_t> queue_;
  std::uint64_t line_ = 0;  // as RunCount::begin
};

}  // namespace hodo::session
