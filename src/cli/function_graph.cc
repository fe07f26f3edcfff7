#include "function_graph.h"

#include <fmt/format.h>

#include "coverage_decoding.h"
#include "hodo/view/text.h"

namespace hodo::cli {

Result<FunctionGraph> function_graph(session::Session& session, const ReadingOptions& options,
                                     const WindowInput& window, const std::string& function,
                                     const std::string& module) {
  analyze::CoverageCounts counts(session.names());
  auto outcome = count_coverage(session, options, window, counts);
  if (!outcome) return std::unexpected(outcome.error());
  auto graph = analyze::flow_graph(counts, session, function, module);
  if (graph) return FunctionGraph{std::move(*graph), std::move(outcome->losses)};
  Error error = graph.error();
  if (!outcome->losses.empty()) {
    error.message += fmt::format("; part of the recording was lost ({}), 'hodo stats' says more",
                                 view::printable(outcome->losses.front().cause));
  }
  return std::unexpected(error);
}

}  // namespace hodo::cli
