// hodo list: every call of a function.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
#include "hodo/ask/calls.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/output.h"

namespace hodo::cli {
namespace {

struct ListOptions {
  ReadingOptions reading;
  std::string function;
  std::string slower_than;
  ask::CallOrder order = ask::CallOrder::order;
  std::size_t most = 1000;
};

const Manual kListManual{
    .summary = "list every call of a function",
    .description =
        "Lists the calls of a function one by one: its moment (for hodo show and --at), when it "
        "began, how long it took and how many instructions it executed with all that it called, "
        "who called it from which line, and how it ended: returned; skipped by an exception or "
        "longjmp; lost with a part of the trace; replaced by another program (exec); or open to "
        "the end of the thread's path.\n\n"
        "FUNCTION is a name with or without parameters, as in 'parse' or 'ns::parse(int)'; all "
        "functions of that name count. 'libc.so.6!malloc' means only that of one file. The number "
        "in the first column is the one that call:FUNCTION#N takes.\n\n"
        "Calls that the compiler has inlined are among them, if the file has debug information (-g): "
        "their code begins and ends where that says it does. Of what an optimiser has merged it may "
        "say nothing: copies of a call beside each other, as in a loop that was unrolled, may count "
        "as one.\n\n"
        "Durations contain the time in which the thread waited. They are as exact as the trace's "
        "timing packets: what begins and ends between two of them took no time.\n\n"
        "A long recording is decoded wherever its index says that the function ran. What was found "
        "there, of this function and of others, is kept beside the index, so that the next such "
        "question is answered at once.",
    .examples = {{"hodo list parse", "All calls of parse in the last recording."},
                 {"hodo list handle_request --slower-than 1ms --sort duration",
                  "The slow ones, the slowest first."},
                 {"hodo list parse --sort latest --top 5", "The last ones before the end."},
                 {"hodo list 'libc.so.6!malloc' --tid 4242 run.data", "One thread's."},
                 {"hodo list parse --json | jq '.calls[].duration'", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

// "1ms", "250us", "80ns", "2s"; a bare number is nanoseconds.
Result<std::uint64_t> nanoseconds(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 0;
  if (unit.empty() || unit == "ns") factor = 1;
  if (unit == "us") factor = 1e3;
  if (unit == "ms") factor = 1e6;
  if (unit == "s") factor = 1e9;
  constexpr double kMost = 1e18;
  if (error != std::errc() || factor == 0 || !(value >= 0) || value * factor > kMost) {
    return fail(
        ErrorCode::usage,
        fmt::format("--slower-than '{}' is no duration; write it as 1ms, 250us or 2s", text));
  }
  return static_cast<std::uint64_t>(value * factor);
}

int run(const ListOptions& options) {
  const Subject subject{"list", "FUNCTION", options.function};
  return with_session(options.reading, subject, [&](session::Session& session) -> Result<Shown> {
    ask::CallListOptions how;
    if (!options.slower_than.empty()) {
      auto least = nanoseconds(options.slower_than);
      if (!least) return std::unexpected(least.error());
      how.slower_than = *least;
    }
    view::Progress progress("decoding");
    how.order = options.order;
    if (options.most != 0) how.most = std::min(options.most, ask::kMostCallRows);
    const Asking asking = asking_of(session, options.reading, progress, true);
    how.walk = asking.how.walk;
    how.index = asking.how.index;
    auto list = ask::list_calls(session, options.function, how);
    progress.clear();
    if (!list) return std::unexpected(list.error());
    view::Output out(STDOUT_FILENO);
    if (options.reading.json) {
      view::write_call_list_json(*list, session, out);
    } else {
      const view::Style style = view::style_for(STDOUT_FILENO, options.reading.color);
      view::write_call_list(*list, session, style, out);
    }
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(list->outcome.losses), .tell = !options.reading.json};
  });
}

}  // namespace

void add_list(Program& program) {
  auto options = std::make_shared<ListOptions>();
  const OptionSet app = program.command("list", kListManual, [options] { return run(*options); });
  app.add_option("FUNCTION", options->function,
                 "the function: parse, ns::parse(int), libc.so.6!malloc")
      .required();
  add_input_options(app, options->reading);
  app.add_option("--slower-than", options->slower_than,
                 "only calls that took this long: 1ms, 250us, 2s")
      .type_name("DURATION");
  using ask::CallOrder;
  add_choice<CallOrder>(
      app, "--sort", options->order,
      {{"order", CallOrder::order},
       {"latest", CallOrder::latest},
       {"duration", CallOrder::duration},
       {"instructions", CallOrder::instructions}},
      "in the order of their beginning (default), the latest or the largest first");
  app.add_option("--top", options->most,
                 "how many to list, 0 for all, up to 1,048,576 (default 1000)")
      .type_name("N");
  add_index_option(app, options->reading);
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
