// The rules that follow a thread. They are asked where something happened that is more than an
// ordinary call, return or jump; History says what.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "edge.h"
#include "edge_rules.h"
#include "rule_list.h"
#include "step.h"

namespace hodo::check {

struct Happening {
  enum class What : std::uint8_t {
    problem,       // the thread is where no open call explains it: `problem` says why
    stray_return,  // a return that no call explains, one of those that may come in a row
    stray_jump,    // an indirect jump to where none may lead, likewise
    begins,        // the kernel goes on at a file's entry point
    to_program,    // the dynamic linker hands over to a file's entry point
    from_linker,   // the dynamic linker calls a function of another file
  };
  What what = What::problem;
  const Step& step;
  ShadowStack::Problem problem{};  // of What::problem
  std::vector<Fact> facts{};       // likewise: what the calls say
};

class HistoryRule {
 public:
  explicit HistoryRule(RuleId id) : id_(id) {}
  virtual ~HistoryRule() = default;
  RuleId id() const { return id_; }
  // What is wrong, mostly nothing.
  virtual std::vector<Verdict> judge(const Happening& happening, Locator& locator) = 0;

 private:
  RuleId id_;
};

std::unique_ptr<HistoryRule> make_return_target();
std::unique_ptr<HistoryRule> make_chain_rop();
std::unique_ptr<HistoryRule> make_chain_jop();
std::unique_ptr<HistoryRule> make_library_injected();

}  // namespace hodo::check
