// Everything that can be said of a branch by itself: what the rules find, and what nobody could
// judge.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "edge.h"
#include "edge_cache.h"
#include "edge_rules.h"
#include "hodo/check/checker.h"
#include "reports.h"

namespace hodo::check {

class EdgeJudge {
 public:
  // `locator` and `reports` must outlive this, as what `options` point to.
  EdgeJudge(const Options& options, Locator& locator, Reports& reports);

  // Judges the branches of code whose maker is known by now, and was not when they were judged.
  // `last`: all others, too, as no thread comes that could have made it.
  void judge_late(bool last = false);
  // Fills in what is known of the branch.
  void judge(const session::Context& context, const Branch& branch, KnownEdge& known);
  // What was found wrong with a branch: indices of Reports.
  std::span<const std::size_t> findings(const KnownEdge& known) const {
    return lists_[known.findings];
  }
  bool has_finding(const KnownEdge& known, RuleId id) const;

  // From here on the branches are those of another session of the recording.
  void begin_again();
  std::vector<Unjudged> unjudged() const;
  std::span<const LearnedBranch> learned() const { return learned_; }

 private:
  void note_unjudged(const Edge& edge);
  void learn(const session::Context& context, const Edge& edge);
  // A branch of code that a generator or somebody else can have made, by a rule for such code. Who
  // did is not known yet: another thread asked for it, which may come later.
  struct Late {
    const EdgeRule* rule = nullptr;
    session::Context context;
    Branch branch;
    bool explained = false;  // for now
  };
  void keep_late(const EdgeRule& rule, const session::Context& context, const Edge& edge,
                 bool explained);

  Locator& locator_;
  Reports& reports_;
  Jit jit_ = Jit::known;
  bool uses_baseline_ = false;
  Baseline* learn_ = nullptr;
  std::vector<LearnedBranch> learned_;
  std::vector<std::unique_ptr<EdgeRule>> rules_;
  // By space, who asked, and the branch's ends.
  std::map<std::tuple<std::uint32_t, session::Grant, std::uint64_t, std::uint64_t>, Late> late_;
  std::vector<std::vector<std::size_t>> lists_{1};  // by KnownEdge::findings
  // Branches with an end in a file that could not be read, by path.
  std::map<std::string, std::uint64_t> unread_;
  std::map<std::string, std::uint64_t> unread_before_;  // in other sessions of the recording
  std::map<std::string, std::uint64_t, std::less<>> without_id_;  // as far as baselines need ids
};

}  // namespace hodo::check
