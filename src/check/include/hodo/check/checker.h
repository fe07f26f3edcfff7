// Holds executed branches against what the program's own text and call history allow.
//
// Rules that judge a branch by itself see each distinct one once; the others (return.target, the
// chains) follow every branch of a thread. Files are analysed when their code first runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hodo/check/baseline.h"
#include "hodo/check/finding.h"
#include "hodo/check/jit.h"
#include "hodo/session/session.h"
#include "hodo/text/module_cache.h"

namespace hodo::check {

struct Options {
  std::vector<const Rule*> rules;  // those to apply; empty: all
  Jit jit = Jit::known;
  const Baseline* baseline = nullptr;        // for baseline.new, which says nothing without
  Baseline* learn = nullptr;                 // takes what this run does
  const text::ModuleCache* cache = nullptr;  // where analyses of files are kept; null: nowhere
};

// A branch that a baseline did not have.
struct LearnedBranch {
  session::Context who;
  Branch branch;
};

// Why some branches were not judged.
struct Unjudged {
  std::string path;  // of the file that could not be read, as recorded; not yet printable
  std::string reason;
  std::uint64_t branches = 0;  // distinct ones, each counted once
};

class Checker final : public session::BranchSink {
 public:
  // `session` and what `options` points to must outlive the checker. The session has regions().
  Checker(session::Session& session, const Options& options);
  ~Checker() override;

  bool branches(const session::Context& context, std::span<const Branch> batch) override;
  bool wants_repeats() const override { return true; }
  bool repeats(const session::Context& context, const flow::Repeats& batch) override;
  bool wants_passages() const override { return true; }
  flow::BranchSink::Judged judged(const session::Context& context, const Branch& branch,
                                  std::uint64_t next) override;
  std::uint64_t judged_by(const session::Context& context, std::uint64_t time) override;
  bool passages(const session::Context& context, const flow::Passages& batch) override;

  // Goes on with another session of the same recording, of which more is known; what was found out
  // about branches by themselves is found out again. As of the constructor.
  void move_to(session::Session& session);

  // How many were found so far, of all grades.
  std::size_t found() const;
  // Those that are new since `first` were found, in the order in which they were.
  std::vector<Finding> found_since(std::size_t first) const;
  // Those that are doubtful last; then by grade, the worst first, then in the order of time.
  std::vector<Finding> findings() const;
  std::vector<Unjudged> unjudged() const;
  std::uint64_t checked() const;  // branches seen
  // The first that were added to Options::learn.
  static constexpr std::size_t kMostLearned = 1000;
  std::span<const LearnedBranch> learned() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Decodes a session and gives its branches to `sink`: a checker, or something that passes them on
// to one. A checker has to see the branches of a thread in their order. Where each processor has a
// trace of its own, a thread's branches are spread over several traces, which are merged by time.
// Errors: as Session::decode.
Result<session::Outcome> decode_for_check(session::Session& session,
                                          const session::DecodeOptions& how,
                                          session::BranchSink& sink);

}  // namespace hodo::check
