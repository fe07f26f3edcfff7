// return.target, chain.rop, chain.jop: where a thread goes against the calls that it has open.
#include <fmt/format.h>

#include "history_rules.h"

namespace hodo::check {
namespace {

class ReturnTarget final : public HistoryRule {
 public:
  ReturnTarget() : HistoryRule(RuleId::return_target) {}

  std::vector<Verdict> judge(const Happening& happening, Locator&) override {
    if (happening.what != Happening::What::problem) return {};
    return {{.grade = happening.problem.grade,
             .reason = std::string(happening.problem.why),
             .facts = happening.facts}};
  }
};

// One finding for each thread.
std::vector<Verdict> chained(const Step& step, const char* reason) {
  return {{.grade = Grade::impossible,
           .reason = reason,
           .cause = fmt::format("thread {}", step.context.tid)}};
}

class ChainRop final : public HistoryRule {
 public:
  ChainRop() : HistoryRule(RuleId::chain_rop) {}

  std::vector<Verdict> judge(const Happening& happening, Locator&) override {
    if (happening.what != Happening::What::stray_return) return {};
    const Step& step = happening.step;
    if (!step.thread.returns.link(step.branch.insns)) return {};
    return chained(
        step,
        "three returns or more in a row that no call explains, with few instructions between");
  }
};

class ChainJop final : public HistoryRule {
 public:
  ChainJop() : HistoryRule(RuleId::chain_jop) {}

  std::vector<Verdict> judge(const Happening& happening, Locator&) override {
    if (happening.what != Happening::What::stray_jump) return {};
    const Step& step = happening.step;
    if (!step.thread.jumps.link(step.branch.insns)) return {};
    return chained(step,
                   "three indirect jumps or more in a row to where none may lead, with few "
                   "instructions between");
  }
};

}  // namespace

std::unique_ptr<HistoryRule> make_return_target() { return std::make_unique<ReturnTarget>(); }
std::unique_ptr<HistoryRule> make_chain_rop() { return std::make_unique<ChainRop>(); }
std::unique_ptr<HistoryRule> make_chain_jop() { return std::make_unique<ChainJop>(); }

}  // namespace hodo::check
