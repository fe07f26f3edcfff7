// A control flow graph as a picture.
#pragma once

#include <string>

#include "hodo/analyze/flow_graph.h"

namespace hodo::view {

// In Graphviz's DOT language: a box for each block with its instructions and how often it ran,
// yellow if it did. Edges that were executed are drawn with their counts, the others dotted. Names
// are made harmless.
std::string flow_graph_dot(const analyze::FlowGraph& graph, const session::Session& session);

}  // namespace hodo::view
