#include <algorithm>
#include <array>

#include "rule_list.h"

namespace hodo::check {
namespace {

constexpr std::array kRules = {
    Rule{"text.source", Grade::impossible, "a branch comes from where the file has no such branch"},
    Rule{"text.target", Grade::impossible, "a direct branch goes elsewhere than its encoding says"},
    Rule{"text.changed", Grade::impossible, "the code that ran differs from the file's"},
    Rule{"code.unknown", Grade::impossible, "code ran that is in no file"},
    Rule{"code.stack", Grade::impossible, "code ran that is on a stack"},
    Rule{"code.heap", Grade::impossible, "code ran that is on the heap"},
    Rule{"code.writable", Grade::unexplained,
         "code of a file ran that the program could have written to"},
    Rule{"return.target", Grade::impossible, "a return goes where no open call explains it"},
    Rule{"call.target", Grade::impossible, "an indirect call or jump lands where none may"},
    Rule{"call.sensitive", Grade::unusual,
         "a function that starts programs or changes rights is reached through a pointer"},
    Rule{"chain.rop", Grade::impossible, "short pieces of code are chained by returns"},
    Rule{"chain.jop", Grade::impossible, "short pieces of code are chained by indirect jumps"},
    Rule{"plt.redirected", Grade::impossible,
         "a call of another module's function goes elsewhere than its name says"},
    Rule{"library.injected", Grade::unusual,
         "a library is mapped that the program does not depend on"},
    Rule{"baseline.new", Grade::unusual,
         "an indirect call or jump that no run took which --baseline learned from"},
};

}  // namespace

std::string_view name(Grade grade) {
  switch (grade) {
    case Grade::impossible:
      return "impossible";
    case Grade::unexplained:
      return "unexplained";
    case Grade::unusual:
      return "unusual";
    case Grade::explained:
      break;
  }
  return "explained";
}

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto* const found = std::ranges::find(kRules, name, &Rule::name);
  return found == kRules.end() ? nullptr : &*found;
}

const Rule& rule(RuleId id) { return kRules[static_cast<std::size_t>(id)]; }
static_assert(kRules.size() == kRuleCount);

}  // namespace hodo::check
