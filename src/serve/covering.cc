#include "hodo/serve/covering.h"

#include "hodo/ask/walk.h"

namespace hodo::serve {
namespace {

// For messages: what a window's counts are of.
std::string part_of(const WindowInput& window, const ask::FindOptions& how) {
  if (!window.call.empty()) return "the call " + window.call;
  const session::Selection& selection = how.walk.selection;
  const bool all = !window.has_moments() && window.function.empty() && window.module.empty() &&
                   !selection.pid && !selection.tid;
  return all ? "this recording" : "the part of the recording that was asked for";
}

Result<FunctionGraph> graph_of(const session::Outcome& outcome,
                               const analyze::CoverageCounts& counts, session::Session& session,
                               const std::string& function, const std::string& module,
                               const std::string& part) {
  auto graph = analyze::flow_graph(counts, session, function, module, part);
  if (graph) return FunctionGraph{std::move(*graph), outcome.losses};
  Error error = graph.error();
  error.message += ask::where_lost(outcome);
  return std::unexpected(error);
}

}  // namespace

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
  return graph_of(*outcome, counts, session, function, module, part_of(window, how));
}

Result<FunctionGraph> function_graph(const session::Outcome& outcome,
                                     const analyze::CoverageCounts& counts,
                                     session::Session& session, const std::string& function,
                                     const std::string& module) {
  return graph_of(outcome, counts, session, function, module, "this recording");
}

}  // namespace hodo::serve
