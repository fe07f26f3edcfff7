// Follows each thread through its calls, returns, signals and gaps, and asks the rules that follow
// a thread where something is out of the ordinary.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "edge.h"
#include "edge_judge.h"
#include "history_rules.h"
#include "makers.h"
#include "pasts.h"
#include "reports.h"
#include "step.h"

namespace hodo::check {

// What is more than a call, a return or a jump.
inline constexpr PathFacts kNeedsHistory = kFromSwitch | kFromResolver | kToSetjmp | kToImage |
                                           kFromLinker | kToLoader | kToArguments | kAsksLinker |
                                           kPlantsReturn;

class History {
 public:
  // The others must outlive this.
  History(const Options& options, Locator& locator, Pasts& pasts, Makers& makers,
          const EdgeJudge& edges, Reports& reports);

  void follow(const Step& step);
  // The branch through a pointer that a return stood for, which follow() was told of before.
  void follow_pointer(const Step& step);

 private:
  class Here;
  // What a thread's stack held before a return.
  struct Expected {
    std::optional<ShadowStack::Frame> last;  // the last open call
    bool whole = false;
    bool astray = false;
  };
  void begin_loading(const Step& step);
  void follow_return(const Step& step, PathFacts facts);
  void follow_far_return(const Step& step, FarBranch how);
  bool is_probed_return(const Step& step) const;
  bool follow_probes(const Step& step);
  std::optional<isa::Insn> branch_at(const Step& step);
  bool follow_probed_branch(const Step& step);
  bool follow_probed_return(const Step& step);
  void tell_breakpoint(const Step& step, std::uint64_t at);
  void tell_linkers(const Step& step);
  void follow_jump(const Step& step);
  void follow_switch(const Step& step);
  void follow_binding(const Step& step);
  // Where the two last calls go on, before a jump closes them; 0: there was none.
  struct Callers {
    explicit Callers(const ShadowStack& stack);
    std::array<std::uint64_t, 2> addresses{};
  };
  bool copies_stack_back(const Step& step, const Callers& callers);
  void plant(const Step& step);
  void follow_absence(const Step& step);
  void come_back(const Step& step);
  void lose(const Step& step);
  bool is_nearby(const Step& step, std::uint64_t interrupted);
  bool is_uncalled(const Step& step);
  bool is_shared(const Step& step);
  bool binds_stub(const Step& step, const std::optional<ShadowStack::Frame>& last);
  void tell_handler(const Step& step);
  void tell(const Happening& happening);
  void tell_problem(const Step& step, const ShadowStack::Verdict& problem,
                    std::vector<Fact> facts = {});
  std::vector<Fact> expected_return(const Step& step, const Expected& expected);
  std::vector<Fact> open_setjmps(const Step& step) const;

  Locator& locator_;
  Pasts& pasts_;
  Makers& makers_;
  const EdgeJudge& edges_;
  Reports& reports_;
  Jit jit_;
  bool wants_texts_;
  bool wants_names_;
  bool wants_targets_;
  bool wants_functions_;
  bool wants_sensitive_;
  std::vector<std::unique_ptr<HistoryRule>> rules_;
};

}  // namespace hodo::check
