// A function's flow graph with counts, for the commands that show one.
#pragma once

#include <string>
#include <vector>

#include "asking.h"
#include "hodo/analyze/flow_graph.h"
#include "reading.h"

namespace hodo::cli {

struct FunctionGraph {
  analyze::FlowGraph graph;
  std::vector<session::LossLine> losses;
};

// Errors: as count_coverage() and analyze::flow_graph(); the latter's mention what was lost, since
// what was not found may be in that.
Result<FunctionGraph> function_graph(session::Session& session, const ReadingOptions& options,
                                     const WindowInput& window, const std::string& function,
                                     const std::string& module);

}  // namespace hodo::cli
