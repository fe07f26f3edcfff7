// Findings that are steps of one attack.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "findings.h"

namespace hodo::check {

std::vector<Finding> by_attack(std::vector<Finding> findings) {
  std::vector<Finding> out;
  std::map<std::uint64_t, std::size_t> lead;  // attack -> its place in `out`
  std::ranges::stable_sort(findings, is_before);
  for (Finding& finding : findings) {
    const auto [at, fresh] = lead.try_emplace(finding.attack, out.size());
    if (fresh || finding.attack == 0) {
      out.push_back(std::move(finding));
    } else {
      out[at->second].steps.push_back(std::move(finding));
    }
  }
  for (Finding& finding : out) {
    std::ranges::stable_sort(finding.steps, {}, &Finding::order);
  }
  return out;
}

}  // namespace hodo::check
