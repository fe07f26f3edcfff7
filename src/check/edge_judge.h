// Everything that can be said of a branch by itself: what the rules find, and what nobody could
// judge.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "edge.h"
#include "edge_cache.h"
#include "edge_rules.h"
#include "hodo/check/checker.h"
#include "pasts.h"
#include "reports.h"

namespace hodo::check {

class EdgeJudge {
 public:
  // The others must outlive this, as what `options` point to.
  EdgeJudge(const Options& options, Locator& locator, const Pasts& pasts, Reports& reports);

  // Judges the branches of code whose maker is known by now, and was not when they were judged.
  // `last`: all others, too, as no thread comes that could have made it.
  void judge_late(bool last = false);
  // Fills in what is known of the branch, which is as Locator::locate() takes it.
  void judge(const session::Context& context, const Branch& branch, KnownEdge& known);
  // What was found wrong with a branch: indices of Reports.
  std::span<const std::size_t> findings(const KnownEdge& known) const {
    return lists_[known.findings];
  }
  bool has_finding(const KnownEdge& known, RuleId id) const;

  // From here on the branches are those of another session of the recording, which the others have
  // moved to. What is not judged yet is kept.
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
  };
  // Of a process.
  using Made = std::pair<Life, session::Grant>;
  // `explained`: for now, which is one finding, whichever branch it is.
  enum class Awaits : std::uint8_t { explained, from, to };
  // Where the code is; 0: anywhere.
  using LateKey = std::tuple<Made, Awaits, std::uint64_t>;
  void keep_late(const EdgeRule& rule, const session::Context& context, const Edge& edge,
                 bool explained);
  bool judge_late(const LateKey& key, const Late& late);
  void note_left_out(const Made& made);

  Locator& locator_;
  const Pasts& pasts_;
  Reports& reports_;
  Jit jit_ = Jit::known;
  bool uses_baseline_ = false;
  Baseline* learn_ = nullptr;
  std::vector<LearnedBranch> learned_;
  std::vector<std::unique_ptr<EdgeRule>> rules_;
  static constexpr std::size_t kMostLate = std::size_t{1} << 16;
  std::map<LateKey, Late> late_;
  // Places that were too many for late_, of code of which it has some.
  std::map<Made, std::uint64_t> left_out_;
  std::vector<std::vector<std::size_t>> lists_{1};  // by KnownEdge::findings
  // Branches by the path of a file; those that are met again in another session are counted again.
  class Counts {
   public:
    void add(std::string_view path, std::uint64_t count = 1) { now_[std::string(path)] += count; }
    void begin_again();
    std::map<std::string, std::uint64_t> all() const;

   private:
    std::map<std::string, std::uint64_t> now_;
    std::map<std::string, std::uint64_t> before_;
  };
  Counts unread_;        // with an end in a file that could not be read
  Counts not_compared_;  // of left_out_, by the file that made the code; empty: not known
  std::map<std::string, std::uint64_t, std::less<>> without_id_;  // as far as baselines need ids
};

}  // namespace hodo::check
