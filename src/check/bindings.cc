#include "bindings.h"

#include <fmt/format.h>

#include <algorithm>

#include "pointer.h"

namespace hodo::check {

void begin_binding(const Step& step, Locator& locator, std::vector<Binding>& open) {
  constexpr std::size_t kMost = 64;  // in each other: a handler may come in between
  const text::Slot* const slot = slot_called(locator.locate(step.context.space, step.branch));
  if (slot == nullptr) return;
  if (open.size() == kMost) open.erase(open.begin());
  open.push_back({slot->name});
}

std::optional<Verdict> judge_binding(const Step& step, Locator& locator,
                                     std::vector<Binding>& open) {
  const End to = locator.end(step.context.space, step.branch.to, step.branch.time);
  const std::string_view name = open.back().name;
  while (to.known() && !open.empty() && !is_named(to, open.back().name)) open.pop_back();
  if (!open.empty()) {
    open.pop_back();
    return std::nullopt;
  }
  const std::string_view other = to.module->name_at(to.vaddr);
  return Verdict{.reason =
                     fmt::format("the dynamic linker took {} for {}",
                                 other.empty() ? "a place that is not called so" : other, name)};
}

}  // namespace hodo::check
