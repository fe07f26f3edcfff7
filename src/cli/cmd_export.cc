// hodo export: what a recording says, in other tools' formats.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "coverage_decoding.h"
#include "format_option.h"
#include "graphviz.h"
#include "hodo/analyze/flow_graph.h"
#include "hodo/view/output.h"
#include "hodo/view/text.h"
#include "output_file.h"
#include "reading.h"

namespace hodo::cli {
namespace {

struct Options {
  ReadingOptions reading;
  std::string format = "cfg-svg";  // or one of exports::graph_formats()
  std::string function;
  std::string module;
  std::string output;  // empty: standard output
};

const Manual kManual{
    .summary = "draw the control flow graph of a function, coloured by what ran",
    .description =
        "The graph has a box for each basic block of the function, with its instructions. Blocks "
        "that were executed are yellow and say how often; edges that were executed have their "
        "counts, the others are dotted. A dashed edge is a jump through a register or memory, "
        "which is only drawn to where it went.\n\n"
        "cfg-svg is a picture, for which Graphviz's program dot has to be installed. cfg-dot is "
        "the graph in Graphviz's language, for its other layouts and formats, and needs "
        "nothing.\n\n"
        "A function is named as 'hodo report' does, C++ functions with or without their "
        "parameters, or by an address in it, that of the file or that where it ran. The code is "
        "that of the first process that ran it; counts are those of all of them, or of --pid and "
        "--tid.",
    .examples =
        {{"hodo export --to cfg-svg --function main -o main.svg",
          "A picture of main for a browser."},
         {"hodo export --to cfg-dot --function strlen --module libc | dot -Tpng > strlen.png",
          "The same of a library's function, in another format."},
         {"hodo export --to cfg-svg --function 0x401230 --module a.out -o it.svg",
          "Of the function at that address of a stripped program."}},
    .exit_statuses = {{"0", "Done, and nothing of the recording was lost."},
                      {"2",
                       "Wrong usage, no such function ran, or the recording cannot be read or the "
                       "picture not be made."},
                      {"3", "Done, but part of the recording was lost or could not be decoded."}}};

Status write(const Options& options, const analyze::FlowGraph& graph,
             const session::Session& session) {
  const auto file = open_output(options.output);
  if (!file) return std::unexpected(file.error());
  const auto formats = exports::graph_formats();
  const auto* const format = exports::find(formats, options.format);
  // Graphviz draws the picture.
  if (format == nullptr) {
    return write_svg(exports::find(formats, "cfg-dot")->write(graph, session), descriptor(*file));
  }
  view::Output out(descriptor(*file));
  out.write(format->write(graph, session));
  return out.finish();
}

// What was not found may be in what was lost.
Error with_losses(Error error, const std::vector<session::LossLine>& losses) {
  if (!losses.empty()) {
    error.message += fmt::format("; part of the recording was lost ({}), 'hodo stats' says more",
                                 view::printable(losses.front().cause));
  }
  return error;
}

Result<Shown> draw(const Options& options, session::Session& session) {
  analyze::CoverageCounts counts(session.names());
  auto outcome = count_coverage(session, options.reading, {}, counts);
  if (!outcome) return std::unexpected(outcome.error());
  const auto graph = analyze::flow_graph(counts, session, options.function, options.module);
  if (!graph) return std::unexpected(with_losses(graph.error(), outcome->losses));
  if (graph->undecoded != 0) {
    fmt::print(stderr, "hodo: {} at the end of {} are no code that is known, and left out\n",
               view::byte_size(graph->undecoded), view::printable(graph->function));
  }
  if (Status status = write(options, *graph, session); !status) {
    return std::unexpected(status.error());
  }
  return Shown{.losses = std::move(outcome->losses), .tell = true};
}

int run(const Options& options) {
  return with_session(options.reading,
                      [&](session::Session& session) { return draw(options, session); });
}

}  // namespace

void add_export(Program& program) {
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("export", kManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_format(app, "--to", options->format, {"cfg-svg"}, exports::graph_formats(),
             "what to make of it")
      .required();
  app.add_option("--function", options->function, "the function to draw")
      .type_name("NAME|0xADDRESS")
      .required();
  app.add_option("--module", options->module, "of a file whose path contains TEXT")
      .type_name("TEXT");
  app.add_option("-o,--output", options->output, "write to FILE instead of standard output (-)")
      .type_name("FILE");
  add_selection_options(app, options->reading);
}

}  // namespace hodo::cli
