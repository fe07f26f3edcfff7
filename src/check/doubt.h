// Findings that touch a place where the trace is lost.
//
// A decoder notices damage late: bytes that were overwritten can still be packets, and it follows
// them to where none fits the code any more. What it told since the damage never happened, and
// where that began nobody knows. A damaged BTS record lies between two gaps, or right behind one.
#pragma once

#include <cstdint>
#include <deque>

#include "hodo/flow/branch.h"

namespace hodo::check {

// What was found of late in one thread. Branches are numbered as the thread executes them.
class Doubt {
 public:
  // So many branches before a loss may have come of the damage.
  static constexpr std::uint64_t kReach = 1024;

  // A finding that was made at a branch. True: it lies right behind a loss, and is doubtful.
  bool add(std::uint64_t number, std::size_t finding) {
    if (behind_ == number) return true;
    forget(number);
    made_.push_back({number, finding});
    return false;
  }
  // To be called with each branch that is no call, return or jump, behind its findings. At a loss,
  // hands to `tell` each finding within reach, as often as it was made.
  void see(std::uint64_t number, const Branch& branch, auto&& tell) {
    const bool lost = branch.kind == BranchKind::lost;
    // Where the path is picked up.
    if (lost || (branch.kind == BranchKind::begin && behind_ == number)) behind_ = number + 1;
    if (!lost) return;
    forget(number);
    for (const Made& made : made_) tell(made.finding);
    made_.clear();
  }

 private:
  struct Made {
    std::uint64_t number = 0;
    std::size_t finding = 0;
  };
  void forget(std::uint64_t number) {
    while (!made_.empty() && number - made_.front().number > kReach) made_.pop_front();
  }

  std::deque<Made> made_;                     // at the last kReach branches
  std::uint64_t behind_ = ~std::uint64_t{0};  // the branch right behind a loss
};

}  // namespace hodo::check
