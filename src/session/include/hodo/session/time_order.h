// All branches of a session in the order of time instead of queue by queue.
#pragma once

#include "hodo/base/result.h"
#include "hodo/session/session.h"

namespace hodo::session {

// As session.decode(), but `sink` gets the branches of all queues merged by time; branches of equal
// time in the order of the queues. A branch without a time stays behind the one before it in its
// queue. Intel PT of up to 256 queues is merged while it is decoded, by one thread. Otherwise each
// queue's branches wait in a file without a name (in TMPDIR). Both take memory independent of the
// number of branches. Errors also: io, no_space, of that file.
Result<Outcome> decode_by_time(Session& session, const DecodeOptions& options, BranchSink& sink);

}  // namespace hodo::session
