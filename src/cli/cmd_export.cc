// hodo export: what a recording says, in other tools' formats.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "commands.h"
#include "coverage_decoding.h"
#include "format_option.h"
#include "hodo/analyze/call_slices.h"
#include "hodo/analyze/call_tree.h"
#include "hodo/analyze/jumps.h"
#include "hodo/base/written_bytes.h"
#include "hodo/serve/graphviz.h"
#include "hodo/view/text.h"
#include "output_file.h"
#include "reading.h"
#include "version.h"

namespace hodo::cli {
namespace {

enum class By : unsigned char { unsaid, time, instructions };

struct ExportOptions {
  ReadingOptions reading;
  WindowInput window;
  std::string format = "cfg-svg";  // or one of export's tables
  bool only_ran = false, all_blocks = false;
  By by = By::unsaid;
  std::uint32_t depth = ~std::uint32_t{0};
  std::string output;  // empty: standard output
};

const Manual kExportManual{
    .summary = "write a recording in other tools' formats: timelines, flame graphs, profiles",
    .description =
        "cfg-svg is a picture of a function's control flow graph, for which Graphviz's program dot "
        "has to be installed; cfg-dot is the graph in Graphviz's language, for its other layouts "
        "and formats, and needs nothing. Each basic block is a box with its instructions. Blocks "
        "that were executed are yellow and say how often; edges that were executed have their "
        "counts, the others are dotted. A dashed edge is a jump through a register or memory, "
        "which is only drawn to where it went. In a function of more than 40 blocks those that "
        "never ran and lead to each other are one dashed box; --all-blocks draws each of them, "
        "--only-ran leaves them out, of whatever function. --function says which function, as 'hodo report' "
        "names it, C++ functions with or without their parameters, or by an address in it, that of "
        "the file or that where it ran; --module, of which file. The code is that of the first process that ran it; counts "
        "are those of all of them.\n\n"
        "perfetto, firefox and speedscope are timelines: each call of each thread from its "
        "beginning to its end, for https://ui.perfetto.dev (and chrome://tracing), "
        "https://profiler.firefox.com and https://www.speedscope.app. Their length is time, or with "
        "--by instructions what was executed, which shows more where many calls lie between two of "
        "the trace's timing packets; an instruction is then drawn as a microsecond in perfetto, as "
        "a nanosecond in firefox. A part of the trace that was lost is a slice '[lost]'. Such files "
        "hold all calls: of a long recording, choose a part by --function, --call, --from and --until, "
        "or leave out the deeper ones by --depth.\n\n"
        "flame-svg is a flame graph as one picture, by instructions or --by time.\n\n"
        "bolt, autofdo and llvm-profgen are profiles of one file (--module) for compilers and "
        "linkers, with exact counts in the place of samples: bolt for perf2bolt -pa, autofdo for "
        "create_llvm_prof --profiler=text, llvm-profgen for llvm-profgen --use-offset=0 --unsymbolized-profile.",
    .examples =
        {{"hodo export --to cfg-svg --function main -o main.svg",
          "A picture of main for a browser."},
         {"hodo export --to cfg-dot --function strlen --module libc | dot -Tpng > strlen.png",
          "The same of a library's function, in another format."},
         {"hodo export --to perfetto --function handle_request -o requests.json",
          "A timeline of what handle_request called."},
         {"hodo export --to speedscope --by instructions --call parse#17 -o parse.json",
          "One call, instruction by instruction."},
         {"hodo export --to flame-svg -o flames.svg", "A flame graph."},
         {"hodo export --to bolt --module /myprog -o prof && perf2bolt -pa -p prof -o prof.fdata "
          "myprog",
          "A profile for BOLT."}},
    .exit_statuses = {{"0", "Done, and nothing of the recording was lost."},
                      {"2",
                       "Wrong usage, no such function ran, or the recording cannot be read or the "
                       "picture not be made."},
                      {"3", "Done, but part of the recording was lost or could not be decoded."}}};

// What is written goes to `out`.
struct Target {
  OutputFile file;
  view::Output out;
  explicit Target(OutputFile opened) : file(std::move(opened)), out(file.fd()) {}

  // When all is written.
  Status finish() {
    const Status written = out.finish();
    return written ? file.keep() : written;
  }
};

Status write_graph(const ExportOptions& options, const analyze::FlowGraph& graph,
                   const session::Session& session, Target& target) {
  const auto formats = exports::graph_formats();
  const auto never_run = options.only_ran     ? exports::NeverRun::left_out
                         : options.all_blocks ? exports::NeverRun::drawn
                                              : exports::NeverRun::folded;
  const auto* const format = exports::find(formats, options.format);
  // Graphviz draws the picture.
  if (format == nullptr) {
    const std::string dot = exports::find(formats, "cfg-dot")->write(graph, session, never_run);
    return serve::write_svg(dot, target.out);
  }
  target.out.write(format->write(graph, session, never_run));
  return {};
}

Result<Shown> export_graph(const ExportOptions& options, session::Session& session) {
  if (options.window.function.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("--to {} draws a function: --function says which", options.format));
  }
  // What the graph is of, and not where else it is called from.
  WindowInput window = options.window;
  window.function.clear();
  window.module.clear();
  auto counted = function_graph(session, options.reading, window, options.window.function,
                                options.window.module);
  if (!counted) return std::unexpected(counted.error());
  const analyze::FlowGraph& graph = counted->graph;
  if (graph.undecoded != 0) {
    fmt::print(stderr, "hodo: {} at the end of {} are no code that is known, and left out\n",
               view::byte_size(graph.undecoded), view::printable(graph.function));
  }
  auto file = OutputFile::open(options.output, {options.reading.file});
  if (!file) return std::unexpected(file.error());
  Target target(std::move(*file));
  Status status = write_graph(options, graph, session, target);
  if (status) status = target.finish();
  if (!status) return std::unexpected(status.error());
  return Shown{.losses = std::move(counted->losses), .tell = true};
}

// Gives the branches that are wanted to `sink`, each thread's in their order.
Result<session::Outcome> decode(const ExportOptions& options, session::Session& session,
                                const WindowInput& part, const session::Selection& selection,
                                session::BranchSink& sink) {
  view::Progress progress("decoding");
  const Asking asking = asking_of(session, options.reading, progress, part.has_moments());
  auto window = serve::window_of(session, part, asking.how);
  if (!window) return std::unexpected(window.error());
  const session::DecodeOptions how{.selection = selection, .progress = told_to(progress)};
  if (window->everything()) return ask::decode_in_order(session, how, sink);
  return ask::decode_window(session, *window,
                            {.walk = how, .mark_gaps = true, .index = asking.how.index}, sink);
}

// Timelines have one thread after the other. Where a queue is not of one thread but of a processor,
// or holds the branch stacks of all, threads are mixed: then each is decoded by itself.
std::vector<session::Selection> one_by_one(const session::Session& session,
                                           const ExportOptions& options) {
  const session::Selection all = selection_of(options.reading);
  const auto mixed = [](const session::Queue& queue) { return queue.tid < 0; };
  if (session.facts() == nullptr || !std::ranges::any_of(session.queues(), mixed)) return {all};
  std::vector<session::Selection> out;
  std::set<std::int32_t> seen;
  for (const session::Thread& thread : session.facts()->threads) {
    if (all.pid && *all.pid != thread.pid) continue;
    if (all.tid && *all.tid != thread.tid) continue;
    if (!seen.insert(thread.tid).second) continue;
    out.push_back({.pid = all.pid, .tid = thread.tid});
  }
  return out;
}

Result<Shown> export_timeline(const ExportOptions& options, session::Session& session,
                              const exports::TimelineFormat& format) {
  auto file = OutputFile::open(options.output, {options.reading.file});
  if (!file) return std::unexpected(file.error());
  Target target(std::move(*file));
  const auto axis =
      options.by == By::instructions ? analyze::SliceAxis::instructions : analyze::SliceAxis::time;
  const auto writer = format.make(session, {.axis = axis, .version = version()}, target.out);
  analyze::CallSlices slices(session.names(), session.clock(), axis, options.depth, *writer);
  std::vector<session::LossLine> losses;
  for (const session::Selection& selection : one_by_one(session, options)) {
    auto outcome = decode(options, session, options.window, selection, slices);
    if (!outcome) return std::unexpected(outcome.error());
    if (losses.empty()) losses = std::move(outcome->losses);
  }
  slices.finish();
  Status status = writer->finish();
  if (status) status = target.finish();
  if (!status) return std::unexpected(status.error());
  if (slices.timeless()) {
    fmt::print(stderr,
               "hodo: this trace has no times: --by instructions makes a timeline without\n");
  }
  return Shown{.losses = std::move(losses), .tell = true};
}

Result<Shown> export_tree(const ExportOptions& options, session::Session& session,
                          const exports::TreeFormat& format) {
  auto file = OutputFile::open(options.output, {options.reading.file});
  if (!file) return std::unexpected(file.error());
  Target target(std::move(*file));
  analyze::CallTree tree(session.names(), session.clock());
  auto outcome = decode(options, session, options.window, selection_of(options.reading), tree);
  if (!outcome) return std::unexpected(outcome.error());
  using view::CallWeight;
  format.write(tree, session,
               {.by = options.by == By::time ? CallWeight::time : CallWeight::instructions,
                .depth = options.depth},
               target.out);
  if (Status status = target.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = std::move(outcome->losses), .tell = true};
}

// The one file that is meant.
Result<const analyze::FileJumps*> chosen(const std::vector<analyze::FileJumps>& files,
                                         const ExportOptions& options) {
  constexpr std::size_t kMostListed = 10;
  const std::string module = written_bytes(options.window.module);
  std::vector<const analyze::FileJumps*> meant;
  for (const analyze::FileJumps& file : files) {
    if (file.path.find(module) != std::string::npos) meant.push_back(&file);
  }
  if (!options.window.module.empty() && meant.size() == 1) return meant.front();
  std::string listed;
  for (std::size_t i = 0; i < std::min(files.size(), kMostListed); ++i) {
    listed += (i == 0 ? " " : ", ") + files[i].path;
  }
  if (files.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("no file took a branch here, so there is no profile for --to {}",
                            options.format));
  }
  const std::string why =
      options.window.module.empty()
          ? fmt::format("--to {} is a profile of one file: --module says which", options.format)
      : meant.empty()
          ? fmt::format("no file whose path contains '{}' took a branch", options.window.module)
          : fmt::format("--module {} means {} files", options.window.module, meant.size());
  return fail(ErrorCode::usage, fmt::format("{}; these did:{}", why, listed));
}

Result<Shown> export_jumps(const ExportOptions& options, session::Session& session,
                           const exports::JumpsFormat& format) {
  analyze::Jumps jumps(session.names());
  WindowInput part = options.window;
  part.module.clear();
  auto outcome = decode(options, session, part, selection_of(options.reading), jumps);
  if (!outcome) return std::unexpected(outcome.error());
  const std::vector<analyze::FileJumps> files = jumps.files();
  const auto wanted = chosen(files, options);
  if (!wanted) return std::unexpected(wanted.error());
  if ((*wanted)->dropped != 0) {
    fmt::print(stderr, "hodo: {} branches are left out: there were too many different ones\n",
               view::grouped((*wanted)->dropped));
  }
  auto file = OutputFile::open(options.output, {options.reading.file});
  if (!file) return std::unexpected(file.error());
  Target target(std::move(*file));
  format.write(**wanted, target.out);
  if (Status status = target.finish(); !status) return std::unexpected(status.error());
  return Shown{.losses = std::move(outcome->losses), .tell = true};
}

// Refuses what would do nothing.
Status check(const ExportOptions& options) {
  const bool timeline = exports::find(exports::timeline_formats(), options.format) != nullptr;
  const bool tree = exports::find(exports::tree_formats(), options.format) != nullptr;
  const bool graph = options.format.starts_with("cfg-");
  if (!graph && (options.only_ran || options.all_blocks)) {
    return fail(ErrorCode::usage,
                fmt::format("--only-ran and --all-blocks say nothing of --to {}", options.format));
  }
  if (options.only_ran && options.all_blocks) {
    return fail(ErrorCode::usage, "--only-ran and --all-blocks exclude each other");
  }
  if (timeline || tree) return {};
  if (options.by != By::unsaid || options.depth != ~std::uint32_t{0}) {
    return fail(ErrorCode::usage,
                fmt::format("--by and --depth say nothing of --to {}", options.format));
  }
  return {};
}

Result<Shown> write(const ExportOptions& options, session::Session& session) {
  if (Status good = check(options); !good) return std::unexpected(good.error());
  if (const auto* format = exports::find(exports::timeline_formats(), options.format)) {
    return export_timeline(options, session, *format);
  }
  if (const auto* format = exports::find(exports::tree_formats(), options.format)) {
    return export_tree(options, session, *format);
  }
  if (const auto* format = exports::find(exports::jumps_formats(), options.format)) {
    return export_jumps(options, session, *format);
  }
  return export_graph(options, session);
}

int run(const ExportOptions& options) {
  return with_session(options.reading,
                      [&](session::Session& session) { return write(options, session); });
}

}  // namespace

void add_export(Program& program) {
  auto options = std::make_shared<ExportOptions>();
  const OptionSet app =
      program.command("export", kExportManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_format(app, "--to", options->format, {"cfg-svg"}, "what to make of it",
             exports::graph_formats(), exports::timeline_formats(), exports::tree_formats(),
             exports::jumps_formats())
      .required();
  add_choice<By>(app, "--by", options->by, {{"time", By::time}, {"instructions", By::instructions}},
                 "what lengths stand for (default time; of flame-svg instructions)");
  app.add_option("--depth", options->depth, "leave out calls that are nested more deeply")
      .range(1, ~std::uint32_t{0})
      .type_name("N");
  app.add_flag("--only-ran", options->only_ran,
               "of cfg-svg and cfg-dot: leave out the blocks that never ran");
  app.add_flag("--all-blocks", options->all_blocks,
               "of cfg-svg and cfg-dot: draw every block of a large function, too");
  app.add_option("-o,--output", options->output, "write to FILE instead of standard output (-)")
      .type_name("FILE");
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window, true, "--until");
}

}  // namespace hodo::cli
