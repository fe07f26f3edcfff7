#include "asking.h"

#include "hodo/serve/recording_index.h"

namespace hodo::cli {

void add_index_option(const OptionSet& app, ReadingOptions& options) {
  app.add_flag("--no-index", options.no_index,
               "neither use nor make an index of the recording (default: of a long one)");
}

void add_window_options(const OptionSet& app, ReadingOptions& options, WindowInput& input,
                        bool module, const std::string& to) {
  app.add_option("--at", input.at,
                 "only what ran near this moment (hodo show --help says how moments are written)")
      .type_name("MOMENT");
  app.add_option("--around", input.around, "branches on either side of --at (default 16)")
      .range(1)
      .type_name("N");
  app.add_option("--from", input.from,
                 "only what ran from this moment on; of its thread, if it is no time")
      .type_name("MOMENT");
  app.add_option(to, input.to, "only what ran until this moment").type_name("MOMENT");
  app.add_option("--last", input.last, "only the last N branches of each thread")
      .range(1)
      .type_name("N");
  app.add_option("--call", input.call,
                 "only what ran in this call, with all that it called: FUNCTION#N, as hodo list "
                 "numbers them")
      .type_name("CALL");
  app.add_option("--function", input.function,
                 "only what ran in calls of this function, with all that it called")
      .type_name("FUNCTION");
  add_index_option(app, options);
  if (!module) return;
  app.add_option("--module", input.module,
                 "only branches from or to files whose path contains TEXT")
      .type_name("TEXT");
}

session::ProgressFunction told_to(view::Progress& progress) {
  return [&progress](std::uint64_t done, std::uint64_t all) { progress.update(done, all); };
}

Asking asking_of(session::Session& session, const ReadingOptions& options, view::Progress& progress,
                 bool indexed) {
  Asking out;
  const auto tell = told_to(progress);
  if (indexed && !options.no_index) out.index = serve::index_of(session, tell);
  out.how = serve::find_options(session, {.selection = selection_of(options), .progress = tell});
  out.how.index = out.index.get();
  return out;
}

}  // namespace hodo::cli
