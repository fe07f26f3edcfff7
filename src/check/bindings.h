// Calls of other files' functions by name, of which the first has the dynamic linker look it up.
#pragma once

#include <optional>
#include <vector>

#include "edge.h"
#include "edge_rules.h"
#include "step.h"

namespace hodo::check {

// A thread goes from a slot to its own stub (kAsksLinker). `open`: those of the thread.
void begin_binding(const Step& step, Locator& locator, std::vector<Binding>& open);

// The dynamic linker jumps to what it has found (kFromResolver): that has to carry the name of the
// call that began last. One of those before, if that was left by an exception or a longjmp.
std::optional<Verdict> judge_binding(const Step& step, Locator& locator,
                                     std::vector<Binding>& open);

}  // namespace hodo::check
