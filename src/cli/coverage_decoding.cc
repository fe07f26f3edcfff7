#include "coverage_decoding.h"

#include "hodo/view/progress.h"

namespace hodo::cli {

Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        const WindowInput& input, analyze::CoverageCounts& counts) {
  view::Progress progress("decoding");
  auto window = window_of(session, options, input, progress);
  if (!window) return std::unexpected(window.error());
  session::DecodeOptions how{.selection = selection_of(options), .progress = told_to(progress)};
  auto outcome = Result<session::Outcome>();
  if (window->everything()) {
    outcome = session.cover(how, counts);
  } else {
    how.not_taken = true;
    const auto runs = ask::as_runs(counts);
    outcome = ask::decode_window(session, *window, {.walk = how, .mark_gaps = true}, *runs);
  }
  progress.clear();
  return outcome;
}

}  // namespace hodo::cli
