#include "coverage_decoding.h"

#include "hodo/view/progress.h"

namespace hodo::cli {

Result<session::Outcome> count_coverage(session::Session& session, const ReadingOptions& options,
                                        analyze::CoverageCounts& counts) {
  view::Progress progress("decoding");
  auto outcome = session.cover(
      {.selection = selection_of(options),
       .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }},
      counts);
  progress.clear();
  return outcome;
}

}  // namespace hodo::cli
