// From what somebody wrote for a moment to the moment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"
#include "hodo/flow/branch.h"
#include "hodo/session/ends.h"

namespace hodo::ask {

// Where a thread's path ends.
struct LastMoment {
  Moment moment;  // at the instruction that it came to last, where that is known
  session::Context who;
  Branch last;               // its last branch
  std::uint64_t number = 0;  // of it
};

// Processes, and the threads of each, in the order in which they were made, as their numbers say
// it, which grow from the first one's on and begin anew at some time. That of walk() is the order
// in which they came to run, which is chance. The pointers are to elements of `threads`.
std::vector<const LastMoment*> by_birth(std::span<const LastMoment> threads);

// Of every selected thread, in the order of walk(), and what decoding came to for who wants that.
// With an index of the session only the ends are decoded; `came_to` then has all losses, and
// numbers of that. Errors: as walk().
Result<std::vector<LastMoment>> last_moments(session::Session& session, const WalkOptions& options,
                                             session::Outcome* came_to = nullptr,
                                             const IndexedRecording* index = nullptr);

// Where a thread was at a time.
struct MomentInTime {
  Moment moment;           // behind its last branch that is not later
  std::uint64_t time = 0;  // of that branch, nanoseconds
  session::Context who;
};

// Every selected thread that had begun then. Errors: as walk().
Result<std::vector<MomentInTime>> moments_at(session::Session& session, std::uint64_t nanoseconds,
                                             const WalkOptions& options,
                                             const IndexedRecording* index = nullptr);

// What finding `number` (from 1) of the check is: the branch, and who executed it.
struct FoundBranch {
  session::Context who;
  Branch branch;
};
using FindingLookup = std::function<Result<FoundBranch>(std::uint64_t number)>;

struct FindOptions {
  WalkOptions walk;  // which threads are meant, where the moment does not say it
  FindingLookup finding;
  std::vector<session::ProcessEnd> ends;    // of the recording
  const IndexedRecording* index = nullptr;  // of the session
  // Gets what was lost where calls, lines or addresses were counted: their numbers may be others.
  std::vector<session::LossLine>* losses = nullptr;
};

// Errors: as walk() and each_occurrence(); not_found where there is no such moment; usage where
// more than one is meant.
Result<Moment> find_moment(session::Session& session, const MomentSpec& spec,
                           const FindOptions& options);
// With parse_moment().
Result<Moment> find_moment(session::Session& session, std::string_view text,
                           const FindOptions& options);

// Whether an end is one that its process did not choose.
bool is_crash(const session::ProcessEnd& end);
// Whether it is one that its process chose and called a failure: as exceptions and panics that
// nobody catches end in most languages.
bool is_failure(const session::ProcessEnd& end);

// Of the threads of a process that exited the one that had it exit: which the recorder names, or
// else the last that stands at a system call without a return. null: none does.
const LastMoment* exiting_thread(std::span<const LastMoment> lasts, const session::ProcessEnd& end);

}  // namespace hodo::ask
