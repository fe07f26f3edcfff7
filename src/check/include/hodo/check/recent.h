// What a thread did just before a finding.
#pragma once

#include <span>
#include <vector>

#include "hodo/check/finding.h"
#include "hodo/flow/decoder.h"

namespace hodo::check {

// The last branches of one thread before the batch at work.
class Recent {
 public:
  void add(const flow::Repeats& batch);
  void add(const flow::Passages& batch);
  // The last ones before a branch, oldest first. Of its batch, what is before `at` comes before it,
  // and then `row`.
  std::vector<Branch> list(const flow::Repeats& batch, const flow::Repeats::Position& at,
                           std::span<const Branch> row) const;
  std::vector<Branch> list(const flow::Passages& batch, const flow::Passages::Position& at,
                           std::span<const Branch> row) const;

 private:
  template <class Batch>
  std::vector<Branch> joined(const Batch& batch, const typename Batch::Position& at,
                             std::span<const Branch> row) const;

  std::vector<Branch> last_;  // at most Finding::kBefore
};

}  // namespace hodo::check
