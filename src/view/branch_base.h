// What the branch list formats share: which branches are written, and when to stop.
#pragma once

#include "hodo/view/branches.h"

namespace hodo::view {

class BranchListBase : public BranchList {
 public:
  BranchListBase(const BranchListOptions& options, Output& out) : options_(options), out_(out) {}

  void begin() override {}

  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    enter(context);
    for (const Branch& branch : batch) {
      std::uint64_t time = 0;
      if (wanted(branch, time)) write(context, branch, time);
    }
    return out_.ok();
  }

 protected:
  // Whether the branch is written; its time in the unit of the time column.
  bool wanted(const Branch& branch, std::uint64_t& time) {
    return wanted_outcome(branch) && wanted_time(branch.time, time);
  }
  bool wanted_outcome(const Branch& branch) const {
    return options_.not_taken || (branch.flags & kNotTaken) == 0;
  }
  bool wanted_time(std::uint64_t ticks, std::uint64_t& time) {
    time = options_.clock.nanoseconds(ticks);
    return time >= options_.from_time && time <= options_.until_time;
  }
  // Before the branches of a batch.
  virtual void enter(const session::Context&) {}
  // `time` is the branch's in the unit of the time column; 0: unknown.
  virtual void write(const session::Context& context, const Branch& branch, std::uint64_t time) = 0;

  const BranchListOptions& options() const { return options_; }
  Output& out() { return out_; }

 private:
  BranchListOptions options_;
  Output& out_;
};

}  // namespace hodo::view
