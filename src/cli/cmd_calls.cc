// hodo calls: the call tree.
#include <unistd.h>

#include <memory>

#include "asking.h"
#include "commands.h"
#include "hodo/analyze/call_tree.h"
#include "hodo/view/calls.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {
namespace {

enum class CallsFormat : unsigned char { text, json, folded };

struct CallsOptions {
  ReadingOptions reading;
  WindowInput window;
  CallsFormat format = CallsFormat::text;
  view::CallWeight by = view::CallWeight::instructions;
  double min_percent = -1;  // not given
  std::uint32_t depth = 64;
};

constexpr double kMinPercent = 1;  // of text

const Manual kCallsManual{
    .summary = "show who called whom, how often, and what it cost",
    .description =
        "Follows calls and returns and shows a tree of call paths for each thread: the share of "
        "the thread's instructions (or time) with everything called from there and in the function "
        "itself, how often the path was entered, instructions and time.\n\n"
        "The tree rests on what was executed, not on samples: counts of calls and instructions are "
        "exact. Time is exact at the trace's timing packets and counts waiting and the kernel's "
        "work for the function that waits.\n\n"
        "Where a part of the trace is missing, the path starts anew below '[unknown caller]', and "
        "so does a path that returns to where no caller was seen. Jumps to the start of another "
        "function are tail calls: the callee stands below the function that jumped. Exceptions and "
        "longjmp leave the functions that they skip. A signal handler stands below the function "
        "that it interrupted; a program that an exec starts stands below nothing. PLT stubs count for "
        "their caller. Code without symbols is named by its place in the file, [ls+0x4f30]. Behind "
        "a million different paths new ones count as 'other'.\n\n"
        "folded is a line per path, 'thread;main;work 4711', which flamegraph.pl turns into a "
        "picture. json has the functions of all paths and, for each thread, the paths, parents before children; "
        "time is in nanoseconds.",
    .examples = {{"hodo calls", "Call trees of the last recording."},
                 {"hodo calls --by time --min-percent 5 --depth 10 run.data",
                  "Only the large branches, by time."},
                 {"hodo calls --format folded | flamegraph.pl > calls.svg", "A flame graph."}},
    .exit_statuses = reading_exit_statuses()};

Result<session::Outcome> decode(const CallsOptions& options, session::Session& session,
                                session::BranchSink& sink) {
  view::Progress progress("decoding");
  const Asking asking = asking_of(session, options.reading, progress, options.window.has_moments());
  auto window = serve::window_of(session, options.window, asking.how);
  if (!window) return std::unexpected(window.error());
  const session::DecodeOptions how{.selection = selection_of(options.reading),
                                   .progress = told_to(progress)};
  if (window->everything()) return ask::decode_in_order(session, how, sink);
  return ask::decode_window(session, *window, {.walk = how, .index = asking.how.index}, sink);
}

int run(const CallsOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    analyze::CallTree tree(session.names(), session.clock());
    auto outcome = decode(options, session, tree);
    if (!outcome) return std::unexpected(outcome.error());
    CallsFormat format = options.reading.json ? CallsFormat::json : options.format;
    view::CallsOptions how{
        .by = options.by, .min_percent = options.min_percent, .depth = options.depth};
    if (how.min_percent < 0) how.min_percent = format == CallsFormat::text ? kMinPercent : 0;
    view::Output out(STDOUT_FILENO);
    view::Style style = view::style_for(STDOUT_FILENO, options.reading.color);
    if (format == CallsFormat::text) out.write(view::calls_text(tree, session, how, style));
    if (format == CallsFormat::json) view::write_calls_json(tree, session, *outcome, how, out);
    if (format == CallsFormat::folded) view::write_calls_folded(tree, session, how, out);
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses), .tell = format != CallsFormat::json};
  });
}

}  // namespace

void add_calls(Program& program) {
  auto options = std::make_shared<CallsOptions>();
  const OptionSet app = program.command("calls", kCallsManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_choice<CallsFormat>(
      app, "--format", options->format,
      {{"text", CallsFormat::text}, {"json", CallsFormat::json}, {"folded", CallsFormat::folded}},
      "how to write them (default text)");
  app.add_flag("--json", options->reading.json, "the same as --format json");
  using view::CallWeight;
  add_choice<CallWeight>(app, "--by", options->by,
                         {{"instructions", CallWeight::instructions}, {"time", CallWeight::time}},
                         "what shares, order and folded weights go by (default instructions)");
  app.add_option("--min-percent", options->min_percent,
                 "leave out paths with less of the thread's whole (default 1 for text, else 0)")
      .percent()
      .type_name("PERCENT");
  app.add_option("--depth", options->depth,
                 "leave out deeper frames; in folded stacks they count for the frame at that depth "
                 "(default 64)")
      .range(1, ~std::uint32_t{0})
      .type_name("N");
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
