// The branches of a session with their numbers: what all questions are answered from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/ask/moment.h"
#include "hodo/base/result.h"
#include "hodo/session/session.h"

namespace hodo::ask {

class ThreadSink {
 public:
  virtual ~ThreadSink() = default;
  // `first`: the number of the first branch of the batch that was taken, among those of its thread.
  // The span is only valid during the call. False: the thread's path is of no more interest.
  virtual bool branches(const session::Context& who, std::uint64_t first,
                        std::span<const Branch> batch) = 0;
};

// Of which threads, and how, as of Session::decode.
using WalkOptions = session::DecodeOptions;

// For a message that something is not there, where a part of the path was lost: "; part of the
// recording was lost (file-changed), ..."; empty where nothing was.
std::string where_lost(const session::Outcome& outcome);

// To what is known to be lost, what another look has found: of each cause the larger count.
void add_losses(std::vector<session::LossLine>& known, const std::vector<session::LossLine>& more);

// For a message of what was looked through: "the recording", "process 7", "thread 8".
std::string searched(const session::Selection& selection);

// The selection that has this thread, and nothing else where threads are known.
session::Selection only(const ThreadId& thread);

// Decodes a session; each thread's branches come in their order. Where a thread has run on several
// processors with traces of their own, these are merged by time. Ends early once `sink` has had
// enough. Errors: as Session::decode and session::decode_by_time.
Result<session::Outcome> walk(session::Session& session, const WalkOptions& options,
                              ThreadSink& sink);
// The same without numbers.
Result<session::Outcome> decode_in_order(session::Session& session, const WalkOptions& options,
                                         session::BranchSink& sink);

}  // namespace hodo::ask
