// Collects findings: one for each cause, with what happened around its first time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "edge_rules.h"
#include "hodo/check/finding.h"
#include "rule_list.h"

namespace hodo::check {

// Those that are doubtful last; then by grade, the worst first, then in the order of time.
bool is_before(const Finding& a, const Finding& b);

class Findings {
 public:
  // More causes than anybody reads; further ones are only counted, in those of their rule.
  static constexpr std::size_t kMostPerRule = 1000;

  // Counts one more for the cause, whose first time this may be. Gives its index.
  std::size_t add(RuleId which, Verdict verdict, const session::Context& who, const Branch& branch);
  void count(std::size_t index) { ++all_[index].count; }
  Finding& at(std::size_t index) { return all_[index]; }
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
  std::map<std::pair<RuleId, std::string>, std::size_t> by_cause_;
  std::array<std::size_t, kRuleCount> per_rule_{};
};

}  // namespace hodo::check
