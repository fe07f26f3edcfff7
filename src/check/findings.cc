#include "findings.h"

#include <utility>

namespace hodo::check {

bool is_before(const Finding& a, const Finding& b) {
  if (a.is_doubtful() != b.is_doubtful()) return b.is_doubtful();
  if (a.grade != b.grade) return a.grade < b.grade;
  return a.branch.time != b.branch.time ? a.branch.time < b.branch.time : a.order < b.order;
}

std::size_t Findings::add(RuleId which, Verdict verdict, const session::Context& who,
                          const Branch& branch) {
  std::size_t& known = per_rule_[static_cast<std::size_t>(which)];
  // All that is too much is one finding.
  if (known >= kMostPerRule) {
    verdict = {.grade = verdict.grade,
               .reason = "more findings of this rule, of other causes",
               .cause = "more"};
  }
  const auto [it, fresh] = by_cause_.try_emplace({which, std::move(verdict.cause)}, all_.size());
  if (fresh) {
    ++known;
    all_.push_back({.rule = &rule(which),
                    .grade = verdict.grade,
                    .reason = std::move(verdict.reason),
                    .facts = std::move(verdict.facts),
                    .order = all_.size(),
                    .attack = verdict.attack,
                    .who = who,
                    .branch = branch});
  }
  ++all_[it->second].count;
  return it->second;
}

}  // namespace hodo::check
