// Where two runs part, and what only one of them did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hodo/ask/find.h"
#include "hodo/view/differences.h"

namespace hodo::serve {

// An opened recording with what is known of it. The session must outlive it.
struct Run {
  std::string file;
  session::Session* session = nullptr;
  std::vector<ask::LastMoment> threads;
  session::Outcome outcome;
};
// Errors: as ask::last_moments; messages name the file.
Result<Run> run_of(session::Session& session, const std::string& file,
                   const session::ProgressFunction& progress);

// What is compared: whole runs, or two calls or two threads, the first of A and the second of B.
struct DiffInput {
  std::vector<std::string> calls;     // none or two, "parse#17"
  std::vector<std::int32_t> threads;  // none or two
  std::size_t top = 20;               // differences that are told
};

// `a` and `b` may be of one session. Errors: not_found where there is nothing to compare; as
// ask::compare and ask::find_call.
Result<view::DiffView> diff_of(Run& a, Run& b, const DiffInput& input,
                               const session::ProgressFunction& progress);

}  // namespace hodo::serve
