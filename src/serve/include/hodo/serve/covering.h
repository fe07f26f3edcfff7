// How often the code of a part of a recording ran, and the flow graph of one function with that.
#pragma once

#include <string>
#include <vector>

#include "hodo/analyze/coverage.h"
#include "hodo/analyze/flow_graph.h"
#include "hodo/serve/asking.h"

namespace hodo::serve {

// Errors: as Session::decode, and as window_of().
Result<session::Outcome> count_coverage(session::Session& session, const WindowInput& input,
                                        const ask::FindOptions& how,
                                        analyze::CoverageCounts& counts);

struct FunctionGraph {
  analyze::FlowGraph graph;
  std::vector<session::LossLine> losses;
};

// Errors: as count_coverage() and analyze::flow_graph(); the latter's mention what was lost, since
// what was not found may be in that.
Result<FunctionGraph> function_graph(session::Session& session, const WindowInput& window,
                                     const ask::FindOptions& how, const std::string& function,
                                     const std::string& module);
// The same of counts that are there already.
Result<FunctionGraph> function_graph(const session::Outcome& outcome,
                                     const analyze::CoverageCounts& counts,
                                     session::Session& session, const std::string& function,
                                     const std::string& module);

}  // namespace hodo::serve
