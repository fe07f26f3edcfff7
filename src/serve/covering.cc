#include "hodo/serve/covering.h"

#include "hodo/ask/walk.h"

namespace hodo::serve {

Result<session::Outcome> count_coverage(session::Session& session, const WindowInput& input,
                                        const ask::FindOptions& how,
                                        analyze::CoverageCounts& counts) {
  auto window = window_of(session, input, how);
  if (!window) return std::unexpected(window.error());
  session::DecodeOptions walk = how.walk;
  if (window->everything()) return session.cover(walk, counts);
  walk.not_taken = true;
  const auto runs = ask::as_runs(counts);
  return ask::decode_window(session, *window, {.walk = walk, .mark_gaps = true, .index = how.index},
                            *runs);
}

Result<FunctionGraph> function_graph(session::Session& session, const WindowInput& window,
                                     const ask::FindOptions& how, const std::string& function,
                                     const std::string& module) {
  analyze::CoverageCounts counts(session.names());
  auto outcome = count_coverage(session, window, how, counts);
  if (!outcome) return std::unexpected(outcome.error());
  return function_graph(*outcome, counts, session, function, module);
}

Result<FunctionGraph> function_graph(const session::Outcome& outcome,
                                     const analyze::CoverageCounts& counts,
                                     session::Session& session, const std::string& function,
                                     const std::string& module) {
  auto graph = analyze::flow_graph(counts, session, function, module);
  if (graph) return FunctionGraph{std::move(*graph), outcome.losses};
  Error error = graph.error();
  error.message += ask::where_lost(outcome);
  return std::unexpected(error);
}

}  // namespace hodo::serve
