// Decoding an input into coverage counts, with progress.
#pragma once

#include <string>

#include "asking.h"
#include "hodo/serve/covering.h"
#include "reading.h"

namespace hodo::cli {

// What `options` select of the input. Errors: as serve::count_coverage.
Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        const WindowInput& input, analyze::CoverageCounts& counts);

// The same of one function's flow graph. Errors: as serve::function_graph.
Result<serve::FunctionGraph> function_graph(session::Session& session,
                                            const ReadingOptions& options,
                                            const WindowInput& window, const std::string& function,
                                            const std::string& module);

}  // namespace hodo::cli
