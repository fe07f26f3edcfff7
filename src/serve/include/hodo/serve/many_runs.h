// What many runs executed, for `hodo diff --only-in`.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "hodo/ask/spectrum.h"
#include "hodo/session/session.h"

namespace hodo::serve {

struct Ran;

// Files and lines are called as in the first run.
class ManyRuns {
 public:
  ManyRuns();
  ~ManyRuns();
  ManyRuns(const ManyRuns&) = delete;
  ManyRuns& operator=(const ManyRuns&) = delete;

  // Errors: as Session::cover.
  Status add(std::unique_ptr<session::Session> run, const session::ProgressFunction& progress);

  struct Outcome {
    std::vector<ask::Spectrum> runs;  // as they were added
    std::set<std::string> notes;      // what a comparison rests on
    bool lost = false;                // a part of a recording
    bool complete = true;             // nothing was lost, and all that ran can be compared
  };
  // Once, at the end. What not all runs know about lines is left out.
  Outcome finish();

 private:
  // A source's line: module, source, line.
  using Line = std::tuple<std::string, std::string, std::uint32_t>;
  using Lines = std::set<Line>;
  static Lines lines_of(const Ran& ran);
  static std::multiset<Line> branches_of(const Ran& ran);
  void align_with_first(Ran& ran);
  void leave_out_unknown();

  std::unique_ptr<session::Session> first_session_;
  std::unique_ptr<Ran> first_;
  Lines uncompared_;
  Lines without_branches_;               // their branches are not compared
  ask::FunctionsOfFiles inlined_;        // in some builds
  std::set<std::string> without_lines_;  // files that a run has without source lines
  Outcome out_;
};

}  // namespace hodo::serve
