#include <algorithm>
#include <array>
#include <utility>

#include "edge_rules.h"
#include "history_rules.h"
#include "hodo/check/checker.h"
#include "rule_list.h"

namespace hodo::check {
namespace {

using MakeEdgeRule = std::unique_ptr<EdgeRule> (*)(const Options&);
using MakeHistoryRule = std::unique_ptr<HistoryRule> (*)();

// One of the two makes the rule.
struct Entry {
  RuleId id = {};
  Rule rule;
  MakeEdgeRule edge = nullptr;
  MakeHistoryRule history = nullptr;
};

template <RuleId kId>
std::unique_ptr<EdgeRule> make_outside(const Options& options) {
  return make_code_outside(kId, options.jit);
}

// All that there is to say of a rule but its page in docs/rules.
constexpr std::array kTable = {
    Entry{
        RuleId::text_source,
        {"text.source", Grade::impossible, "a branch comes from where the file has no such branch"},
        [](const Options&) { return make_text_source(); }},
    Entry{
        RuleId::text_target,
        {"text.target", Grade::impossible, "a direct branch goes elsewhere than its encoding says"},
        [](const Options&) { return make_text_target(); }},
    Entry{RuleId::text_changed,
          {"text.changed", Grade::impossible, "the code that ran differs from the file's"},
          [](const Options&) { return make_text_changed(); }},
    Entry{RuleId::code_unknown,
          {"code.unknown", Grade::impossible, "code ran that is in no file"},
          make_outside<RuleId::code_unknown>},
    Entry{RuleId::code_stack,
          {"code.stack", Grade::impossible, "code ran that is on a stack"},
          make_outside<RuleId::code_stack>},
    Entry{RuleId::code_heap,
          {"code.heap", Grade::impossible, "code ran that is on the heap"},
          make_outside<RuleId::code_heap>},
    Entry{RuleId::code_writable,
          {"code.writable", Grade::unexplained,
           "code of a file ran that the program could have written to"},
          [](const Options&) { return make_code_writable(); }},
    Entry{RuleId::return_target,
          {"return.target", Grade::impossible, "a return goes where no open call explains it"},
          nullptr,
          make_return_target},
    Entry{RuleId::call_target,
          {"call.target", Grade::impossible, "an indirect call or jump lands where none may"},
          [](const Options&) { return make_call_target(); }},
    Entry{RuleId::call_function,
          {"call.function", Grade::unexplained,
           "an indirect call or jump leads to a function to which no such pointer leads"},
          [](const Options&) { return make_call_function(); }},
    Entry{
        RuleId::call_sensitive,
        {"call.sensitive", Grade::unusual,
         "a function that starts programs or changes rights is reached through a pointer"},
        [](const Options& options) { return make_call_sensitive(options.baseline, options.jit); }},
    Entry{RuleId::chain_rop,
          {"chain.rop", Grade::impossible, "short pieces of code are chained by returns"},
          nullptr,
          make_chain_rop},
    Entry{RuleId::chain_jop,
          {"chain.jop", Grade::impossible, "short pieces of code are chained by indirect jumps"},
          nullptr,
          make_chain_jop},
    Entry{RuleId::plt_redirected,
          {"plt.redirected", Grade::impossible,
           "a call of another module's function goes elsewhere than its name says"},
          [](const Options&) { return make_plt_redirected(); }},
    Entry{RuleId::library_injected,
          {"library.injected", Grade::unusual,
           "a library is mapped that the program does not depend on"},
          nullptr,
          make_library_injected},
    Entry{RuleId::baseline_new,
          {"baseline.new", Grade::unusual,
           "an indirect call or jump that no run took which --baseline learned from"},
          [](const Options& options) {
            return options.baseline == nullptr ? nullptr : make_baseline_new(*options.baseline);
          }},
};

// Each stands where its number says.
consteval bool is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].id != static_cast<RuleId>(i)) return false;
    if ((kTable[i].edge == nullptr) == (kTable[i].history == nullptr)) return false;
  }
  return kTable.size() == kRuleCount;
}
static_assert(is_in_order());

constexpr std::array<Rule, kRuleCount> kRules = [] {
  std::array<Rule, kRuleCount> out{};
  std::ranges::transform(kTable, out.begin(), &Entry::rule);
  return out;
}();

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

bool is_wanted(RuleId id, const Options& options) {
  return options.rules.empty() ||
         std::ranges::find(options.rules, &rule(id)) != options.rules.end();
}

std::vector<std::unique_ptr<EdgeRule>> make_edge_rules(const Options& options) {
  std::vector<std::unique_ptr<EdgeRule>> out;
  for (const Entry& entry : kTable) {
    if (entry.edge == nullptr || !is_wanted(entry.id, options)) continue;
    if (auto rule = entry.edge(options)) out.push_back(std::move(rule));
  }
  return out;
}

std::vector<std::unique_ptr<HistoryRule>> make_history_rules(const Options& options) {
  std::vector<std::unique_ptr<HistoryRule>> out;
  for (const Entry& entry : kTable) {
    if (entry.history != nullptr && is_wanted(entry.id, options)) out.push_back(entry.history());
  }
  return out;
}

}  // namespace hodo::check
