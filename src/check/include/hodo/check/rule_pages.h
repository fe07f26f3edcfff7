// The pages of docs/rules that are a rule's: what it proves, how, and what it cannot see.
#pragma once

#include <span>
#include <string_view>

namespace hodo::check {

struct RulePage {
  std::string_view rule;  // "return.target"
  std::string_view text;  // Markdown, as in docs/rules
};

std::span<const RulePage> rule_pages();
// Null if there is no such rule.
const RulePage* find_rule_page(std::string_view rule);
// The first paragraph of a page, in Markdown.
std::string_view what_it_proves(const RulePage& page);

}  // namespace hodo::check
