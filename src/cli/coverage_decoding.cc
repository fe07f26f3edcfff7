#include "coverage_decoding.h"

#include "hodo/view/progress.h"

namespace hodo::cli {

Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        const WindowInput& input, analyze::CoverageCounts& counts) {
  view::Progress progress("decoding");
  return serve::count_coverage(session, input, find_options(session, options, progress), counts);
}

Result<serve::FunctionGraph> function_graph(session::Session& session,
                                            const ReadingOptions& options,
                                            const WindowInput& window, const std::string& function,
                                            const std::string& module) {
  view::Progress progress("decoding");
  return serve::function_graph(session, window, find_options(session, options, progress), function,
                               module);
}

}  // namespace hodo::cli
