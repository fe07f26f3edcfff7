#include "findings.h"

#include <algorithm>
#include <utility>

namespace hodo::check {

std::vector<Branch> Recent::list(const flow::Repeats& batch, const flow::Repeats::Position& at,
                                 std::span<const Branch> row) const {
  const auto end = row.last(std::min(row.size(), Finding::kBefore));
  const std::vector<Branch> begin = batch.last(Finding::kBefore - end.size(), at);
  const std::size_t kept = std::min(last_.size(), Finding::kBefore - end.size() - begin.size());
  std::vector<Branch> out(last_.end() - static_cast<std::ptrdiff_t>(kept), last_.end());
  out.insert(out.end(), begin.begin(), begin.end());
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

void Recent::add(const flow::Repeats& batch) { last_ = list(batch, batch.end(), {}); }

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
