// What the formats of a branch list share: which branches are written.
#pragma once

#include <span>
#include <string>

#include "hodo/view/branches.h"

namespace hodo::view {

// Writes branches in one format. Several writers of one list may be at work, each in a thread.
class BranchWriter {
 public:
  explicit BranchWriter(const BranchListOptions& options) : options_(options) {}
  virtual ~BranchWriter() = default;
  BranchWriter(const BranchWriter&) = delete;
  BranchWriter& operator=(const BranchWriter&) = delete;

  // What stands before the first branch of a list.
  virtual std::string head() const { return ""; }
  // Behind what `out` has.
  virtual void write(const session::Context& context, std::span<const Branch> batch,
                     std::string& out) {
    enter(context);
    for (const Branch& branch : batch) {
      std::uint64_t time = 0;
      if (wanted(branch, time)) write_one(context, branch, time, out);
    }
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
  virtual void write_one(const session::Context& context, const Branch& branch, std::uint64_t time,
                         std::string& out) = 0;

  const BranchListOptions& options() const { return options_; }

 private:
  BranchListOptions options_;
};

}  // namespace hodo::view
