#include "findings.h"

#include <algorithm>
#include <utility>

namespace hodo::check {

std::vector<Branch> Recent::list(std::span<const Branch> batch) const {
  const std::size_t from_batch = std::min(batch.size(), Finding::kBefore);
  const std::size_t kept = std::min(last_.size(), Finding::kBefore - from_batch);
  std::vector<Branch> out(last_.end() - static_cast<std::ptrdiff_t>(kept), last_.end());
  const auto end = batch.last(from_batch);
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

void Recent::add(std::span<const Branch> batch) {
  if (batch.size() < Finding::kBefore) {
    last_ = list(batch);
  } else {
    const auto last = batch.last(Finding::kBefore);
    last_.assign(last.begin(), last.end());
  }
}

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
