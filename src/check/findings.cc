#include "findings.h"

#include <utility>

namespace hodo::check {

std::size_t Findings::add(RuleId which, Grade grade, std::string cause, std::string reason,
                          const session::Context& who, const Branch& branch) {
  std::size_t& known = per_rule_[static_cast<std::size_t>(which)];
  // All that is too much is one finding.
  if (known >= kMostPerRule) {
    cause = "more";
    reason = "more findings of this rule, of other causes";
  }
  const auto [it, fresh] = by_cause_.try_emplace({which, std::move(cause)}, all_.size());
  if (fresh) {
    ++known;
    all_.push_back({.rule = &rule(which),
                    .grade = grade,
                    .reason = std::move(reason),
                    .who = who,
                    .branch = branch});
  }
  ++all_[it->second].count;
  return it->second;
}

}  // namespace hodo::check
