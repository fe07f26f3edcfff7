// hodo report: the summary that a person wants first.
#include <memory>

#include "commands.h"
#include "reading.h"
#include "show_report.h"

namespace hodo::cli {
namespace {

const Manual kReportManual{
    .summary = "show the summary of a recording",
    .description =
        "Says what was recorded where and when, which processes and threads ran and for how long, "
        "how many instructions and branches they executed, which functions and branches were the "
        "hottest, how large the trace is, and what was lost and why.\n\n"
        "Instructions count for the function that the branch after them left; calls count for the "
        "function entered, also where a PLT stub leads to it. With --inline the instructions of "
        "branches in inlined code count for the inlined function.",
    .examples = {{"hodo report", "The last recording."},
                 {"hodo report --top 30 run.data", "Longer tables."},
                 {"hodo report --srcline --inline", "With source lines and inlined functions."},
                 {"hodo report --json | jq .functions", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

}  // namespace

void add_report(Program& program) {
  auto options = std::make_shared<ReportOptions>();
  const OptionSet app =
      program.command("report", kReportManual, [options] { return show_report(*options); });
  add_input_options(app, options->reading);
  app.add_flag("--json", options->reading.json, "one JSON object");
  app.add_option("--top", options->top, "how many functions and branches to list (default 10)")
      .type_name("N");
  add_source_options(app, options->reading);
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
