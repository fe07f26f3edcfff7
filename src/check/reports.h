// Findings at the branches where they are made: each counted, with what came before and after its
// first time, and doubted where the trace is lost nearby.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "edge.h"
#include "edge_rules.h"
#include "findings.h"
#include "step.h"

namespace hodo::check {

class Reports {
 public:
  // `locator` must outlive this.
  explicit Reports(Locator& locator) : locator_(locator) {}

  // A rule that follows threads found something wrong with the branch at work.
  void add(const Step& step, RuleId id, Verdict verdict);
  // A rule that judges branches by themselves did. Counts nothing: that is done each time the
  // branch runs. Gives the finding's index.
  std::size_t note(const session::Context& context, const Branch& branch, RuleId id,
                   Verdict verdict);
  // The same of a branch of which it is known too late: what came before and after is gone.
  void add_late(const session::Context& context, const Branch& branch, RuleId id, Verdict verdict);
  // The branch at work is one of which something was noted.
  void count(const Step& step, std::size_t index);
  // To be called with each branch that is no call, return or jump, behind its findings.
  void see(const Step& step);
  // A further branch of a thread with findings that are open.
  void collect_after(Thread& thread, const Branch& branch);

  const Finding& at(std::size_t index) const { return found_.all()[index]; }
  // In the order in which they were found.
  const std::vector<Finding>& all() const { return found_.all(); }
  // As Checker::findings.
  std::vector<Finding> sorted() const;

 private:
  std::string cause_of(std::uint32_t space, const Branch& branch);
  void begin(const Step& step, std::size_t index);
  void join_attack(const Step& step, Finding& finding) const;
  void doubt(Finding& finding) const;

  Locator& locator_;
  Findings found_;
  std::map<std::size_t, std::string> libraries_;     // Verdict::library of findings
  std::map<std::string, std::uint64_t> by_library_;  // the attack that is about it
  std::uint64_t losses_ = 0;                         // seen so far, in all threads
};

}  // namespace hodo::check
