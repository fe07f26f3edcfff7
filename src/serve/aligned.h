// What runs executed, called alike although files of theirs are builds of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/analyze/coverage.h"
#include "hodo/ask/builds.h"
#include "hodo/ask/spectrum.h"
#include "hodo/session/session.h"

namespace hodo::serve {

// What a run, or the part of it, executed. The session must outlive it.
struct Ran {
  explicit Ran(session::Session& run)
      : session(run), counts(run.names()), builds(run.names(), counts) {}
  session::Session& session;
  analyze::CoverageCounts counts;
  ask::Builds builds;
  analyze::Coverage coverage;  // of the counts
};

struct Alignment {
  ask::RenamedFiles renamed;  // files of b, to what they are called in a
  ask::RebuiltFiles rebuilt;
  ask::FunctionsOfFiles inlined;   // in one build: their counts cannot be compared
  std::vector<std::string> notes;  // what a comparison rests on
  bool complete = true;            // all that ran can be compared
};

// Calls b's files and lines as in a, and leaves out lines of both that cannot be compared. `first`:
// what a person knows a as.
Alignment align(Ran& a, Ran& b, std::string_view first);

}  // namespace hodo::serve
