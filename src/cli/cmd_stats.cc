// hodo stats: counts.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "hodo/session/session.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "hodo/view/stats.h"
#include "reading.h"

namespace hodo::cli {
namespace {

const Manual kStatsManual{
    .summary = "count instructions, branches, packets and losses",
    .description =
        "Decodes the whole recording and counts: instructions, branches by kind, taken and not, "
        "packets and their bytes by kind, events that are no branches, and what was lost for which "
        "cause.",
    .examples = {{"hodo stats", "Counts of the last recording."},
                 {"hodo stats --json run.data | jq .instructions", "One number for a script."}},
    .exit_statuses = reading_exit_statuses()};

int run(const ReadingOptions& options) {
  return with_session(options, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    auto outcome = session.count(
        {.selection = selection_of(options),
         .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }});
    progress.clear();
    if (!outcome) return std::unexpected(outcome.error());
    view::Output out(STDOUT_FILENO);
    view::Style style = view::style_for(STDOUT_FILENO, options.color);
    out.write(options.json ? view::json_text(view::stats_json(session, *outcome))
                           : view::stats_text(session, *outcome, style));
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses)};
  });
}

}  // namespace

void add_stats(Program& program) {
  auto options = std::make_shared<ReadingOptions>();
  const OptionSet app = program.command("stats", kStatsManual, [options] { return run(*options); });
  add_trace_options(app, *options);
  app.add_flag("--json", options->json, "one JSON object");
  add_selection_options(app, *options);
  add_color_option(app, *options);
}

}  // namespace hodo::cli
