// The rules that judge a branch by itself. Each sees an edge once; what they say of it counts for
// every time it is taken.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edge.h"
#include "hodo/check/baseline.h"
#include "hodo/check/finding.h"
#include "hodo/check/jit.h"
#include "rule_list.h"

namespace hodo::check {

struct Verdict {
  Grade grade = Grade::impossible;
  std::string reason;  // one sentence about the branch, without its addresses
  // What else has this cause: findings of a rule with equal causes are one. Empty: this edge alone.
  std::string cause;
  std::vector<Fact> facts;  // as Finding::facts
  // It is a step of this attack; 0: of the one that the thread is in, if any.
  std::uint64_t attack = 0;
  // The path of a library that should not be there, which this is about: all of one is one attack.
  std::string library;
  // Nothing is said yet: it depends on who made code, and another thread that comes later may have.
  bool awaits_maker = false;
};

class EdgeRule {
 public:
  explicit EdgeRule(RuleId id) : id_(id) {}
  virtual ~EdgeRule() = default;
  RuleId id() const { return id_; }
  // nullopt: nothing is wrong as far as this rule sees, or it does not apply.
  virtual std::optional<Verdict> judge(const Edge& edge, Locator& locator) const = 0;

 private:
  RuleId id_;
};

std::unique_ptr<EdgeRule> make_text_source();
std::unique_ptr<EdgeRule> make_text_target();
std::unique_ptr<EdgeRule> make_text_changed();
// code.unknown, code.stack or code.heap.
std::unique_ptr<EdgeRule> make_code_outside(RuleId id, Jit jit);
std::unique_ptr<EdgeRule> make_code_writable();
std::unique_ptr<EdgeRule> make_call_target();
std::unique_ptr<EdgeRule> make_call_function();
// `baseline`: whose edges are none, or null; it must outlive the rule.
std::unique_ptr<EdgeRule> make_call_sensitive(const Baseline* baseline, Jit jit);
std::unique_ptr<EdgeRule> make_plt_redirected();
// `baseline` must outlive the rule.
std::unique_ptr<EdgeRule> make_baseline_new(const Baseline& baseline);

// What a baseline holds of a branch; nullopt where it is none that baselines are about. An empty
// build-id: the file has none.
std::optional<Baseline::Edge> baseline_edge(const Edge& edge);

// The generator that made the code there, which is in no file: one that is known and made the
// memory executable, or is loaded where nobody knows who did, and the code is neither on a stack
// nor on the heap; "a code generator" where the program told perf of it, or with Jit::allow. Empty:
// none.
std::string known_generator(const End& end, std::uint32_t space, std::uint64_t time,
                            Locator& locator, Jit jit);
// The same, or the file that made the memory executable itself (Locator::made_itself), or somebody
// who is not known yet (Locator::awaits_maker).
std::string maker_of(const End& end, std::uint32_t space, std::uint64_t time, Locator& locator,
                     Jit jit);
inline bool is_generated(const End& end, std::uint32_t space, std::uint64_t time, Locator& locator,
                         Jit jit) {
  return !maker_of(end, space, time, locator, jit).empty();
}

}  // namespace hodo::check
