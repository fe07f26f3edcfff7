// The rules by number, in the order of rules().
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/check/finding.h"

namespace hodo::check {

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
  call_sensitive,
  chain_rop,
  chain_jop,
  plt_redirected,
  library_injected,
  baseline_new,
};
inline constexpr std::size_t kRuleCount = 15;

const Rule& rule(RuleId id);

}  // namespace hodo::check
