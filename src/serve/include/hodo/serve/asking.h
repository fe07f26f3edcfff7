// What all questions have in common: which part of the path they are about, and finding moments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/ask/find.h"
#include "hodo/ask/window.h"
#include "hodo/session/ends.h"
#include "hodo/session/session.h"
#include "hodo/view/findings.h"

namespace hodo::serve {

// The part of the path that somebody wants to look at, as written.
struct WindowInput {
  std::string at, from, to;  // moments
  std::uint64_t around = 0;  // branches on either side of `at`; 0: not given
  std::uint64_t last = 0;    // 0: not given
  std::string call;          // "parse#17"
  std::string function;
  std::string module;

  // Moments are looked for, which an index makes quick.
  bool has_moments() const {
    return !at.empty() || !from.empty() || !to.empty() || last != 0 || !call.empty();
  }
};
// Errors: usage for what contradicts itself; as ask::find_moment.
Result<ask::Window> window_of(session::Session& session, const WindowInput& input,
                              const ask::FindOptions& options);

// How the processes of a recording ended; empty where nobody knows.
std::vector<session::ProcessEnd> ends_of(const session::Session& session);

// What finding `number` (from 1) is. Errors: not_found.
Result<ask::FoundBranch> finding_of(const view::Checked& checked, std::uint64_t number);

// Whether the process or thread that is selected is there at all: what is asked of one that is not
// would be answered with nothing. Errors: not_found.
Status selects_somebody(session::Session& session, const session::Selection& selection);

// To find moments with, where `walk` has which threads are meant and who hears of the progress. The
// session must outlive it.
ask::FindOptions find_options(session::Session& session, const ask::WalkOptions& walk);

}  // namespace hodo::serve
