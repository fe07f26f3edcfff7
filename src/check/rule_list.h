// The rules by number, in the order of rules(). The table of them is in rules.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hodo/check/finding.h"

namespace hodo::check {

class EdgeRule;
class HistoryRule;
struct Options;

enum class RuleId : std::uint8_t {
  text_source,
  text_target,
  text_changed,
  code_unknown,
  code_stack,
  code_heap,
  code_writable,
  return_target,
  call_target,
  call_function,
  call_sensitive,
  chain_rop,
  chain_jop,
  plt_redirected,
  library_injected,
  baseline_new,
};
inline constexpr std::size_t kRuleCount = static_cast<std::size_t>(RuleId::baseline_new) + 1;

const Rule& rule(RuleId id);
bool is_wanted(RuleId id, const Options& options);

// The rules that are asked for, in the order of rules(): those that judge a branch by itself, and
// those that follow a thread.
std::vector<std::unique_ptr<EdgeRule>> make_edge_rules(const Options& options);
std::vector<std::unique_ptr<HistoryRule>> make_history_rules(const Options& options);

}  // namespace hodo::check
