// Decoding an input into coverage counts, with progress.
#pragma once

#include "asking.h"
#include "hodo/analyze/coverage.h"
#include "reading.h"

namespace hodo::cli {

// What `options` select of the input. Errors: as Session::decode, and as window_of().
Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        const WindowInput& input, analyze::CoverageCounts& counts);

}  // namespace hodo::cli
