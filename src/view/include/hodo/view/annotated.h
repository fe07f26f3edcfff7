// What `hodo annotate` prints: a function's source and instructions with how often they ran.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hodo/analyze/flow_graph.h"
#include "hodo/session/session.h"
#include "hodo/view/style.h"

namespace hodo::view {

// Where an instruction comes from. Strings are raw.
struct InsnSource {
  std::string file;        // empty: unknown
  std::uint32_t line = 0;  // 0: unknown
  std::string inlined;     // the function that is inlined there; empty: none is
};

struct Annotated {
  // Looks for the source of each instruction; the graph and the session must outlive this.
  Annotated(const analyze::FlowGraph& of, const session::Session& in);

  const analyze::FlowGraph& graph;
  const session::Session& session;
  session::Object program;                       // of the function's first instruction
  std::vector<std::vector<InsnSource>> sources;  // by block and instruction
};

// `only_ran`: what did not run is folded into one line for each stretch of it.
std::string annotated_text(const Annotated& what, bool only_ran, const Style& style);
nlohmann::ordered_json annotated_json(const Annotated& what, bool only_ran);

}  // namespace hodo::view
