// hodo annotate: a function's source and instructions, with how often they ran.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "coverage_decoding.h"
#include "hodo/view/annotated.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"

namespace hodo::cli {
namespace {

struct AnnotateOptions {
  ReadingOptions reading;
  WindowInput window;
  std::string function;
  std::string module;
  bool only_ran = false;
};

const Manual kAnnotateManual{
    .summary = "show a function's source and instructions, with how often each ran",
    .description =
        "Lists a function block by block: before each instruction how often it was executed, above "
        "it the source line that it comes from, behind the block's last instruction where it went "
        "from there and how often. A source line is made of many instructions, and lines that are "
        "said to have run may have parts that never did: here they show.\n\n"
        "Counts are those of the whole recording, of all processes that mapped the file; --call "
        "gives those of one call, --from, --to, --last, --pid and --tid those of a part. "
        "Instructions of one block differ in their counts where a signal or a call that does not "
        "come back ended its execution.\n\n"
        "A function is named as 'hodo report' does, C++ functions with or without their "
        "parameters, or by an address in it, that of the file or that where it ran. Addresses in "
        "the listing are those of the first process that ran it.",
    .examples = {{"hodo annotate parse", "Where parse spent its instructions."},
                 {"hodo annotate parse --call parse#17", "What its seventeenth call did."},
                 {"hodo annotate 0x401230 --module a.out --only-ran",
                  "The function at an address, without what never ran."},
                 {"hodo annotate parse --json | jq '.lines[] | select(.count == 0)'",
                  "Lines of it that never ran."}},
    .exit_statuses = reading_exit_statuses()};

int run(const AnnotateOptions& options) {
  const Subject subject{"annotate", "FUNCTION", options.function};
  return with_session(options.reading, subject, [&](session::Session& session) -> Result<Shown> {
    auto counted =
        function_graph(session, options.reading, options.window, options.function, options.module);
    if (!counted) return std::unexpected(counted.error());
    const view::Annotated what(counted->graph, session);
    view::Output out(STDOUT_FILENO);
    if (options.reading.json) {
      auto value = view::annotated_json(what, options.only_ran);
      value["losses"] = view::losses_json(counted->losses, session.clock());
      view::add_growing(value, session);
      out.write(view::json_text(value));
    } else {
      out.write(view::annotated_text(what, options.only_ran,
                                     view::style_for(STDOUT_FILENO, options.reading.color)));
    }
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(counted->losses), .tell = !options.reading.json};
  });
}

}  // namespace

void add_annotate(Program& program) {
  auto options = std::make_shared<AnnotateOptions>();
  const OptionSet app =
      program.command("annotate", kAnnotateManual, [options] { return run(*options); });
  app.add_option("FUNCTION", options->function,
                 "the function: parse, ns::parse(int), prog!parse, or an address in it, 0x401230")
      .required();
  add_input_options(app, options->reading);
  app.add_option("--module", options->module, "of a file whose path contains TEXT")
      .type_name("TEXT");
  app.add_flag("--only-ran", options->only_ran, "leave out the blocks that never ran");
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window, false);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
