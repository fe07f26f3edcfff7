#include "coverage_decoding.h"

#include "hodo/view/progress.h"

namespace hodo::cli {

Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        const WindowInput& input, analyze::CoverageCounts& counts) {
  view::Progress progress("decoding");
  const Asking asking = asking_of(session, options, progress, input.has_moments());
  return serve::count_coverage(session, input, asking.how, counts);
}

Result<serve::FunctionGraph> function_graph(session::Session& session,
                                            const ReadingOptions& options,
                                            const WindowInput& window, const std::string& function,
                                            const std::string& module) {
  view::Progress progress("decoding");
  const Asking asking = asking_of(session, options, progress, window.has_moments());
  return serve::function_graph(session, window, asking.how, function, module);
}

}  // namespace hodo::cli
