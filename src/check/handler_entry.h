// Where the kernel has a signal handled: such an entry is no branch of the text, and lands like a
// call through a pointer.
#pragma once

#include <optional>

#include "edge.h"
#include "edge_rules.h"
#include "rule_list.h"
#include "step.h"

namespace hodo::check {

struct HandlerFinding {
  RuleId rule = {};  // call_target, call_function or call_sensitive
  Verdict verdict;
};

// Of a step by which a thread comes back elsewhere than it left; nullopt: nothing is wrong.
std::optional<HandlerFinding> judge_handler(const Step& step, Locator& locator);

}  // namespace hodo::check
