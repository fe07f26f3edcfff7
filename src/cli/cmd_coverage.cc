// hodo coverage: which code has run.
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <memory>

#include "commands.h"
#include "coverage_decoding.h"
#include "format_option.h"
#include "hodo/analyze/coverage.h"
#include "hodo/ask/occurrences.h"
#include "hodo/base/written_bytes.h"
#include "hodo/view/coverage.h"
#include "hodo/view/text.h"
#include "reading.h"

namespace hodo::cli {
namespace {

struct CoverageOptions {
  ReadingOptions reading;
  WindowInput window;
  std::string format = "text";  // text, json, or one of export's
  std::string module;
  std::size_t top = 20;
  std::uint64_t map_size = 65536;
};

const Manual kCoverageManual{
    .summary = "show which functions, blocks, edges and lines have run",
    .description =
        "Counts every basic block, edge (branch from one place to another, or fall through) and "
        "source line that was executed, exactly, and shows for each file how much of it that "
        "is.\n\n"
        "How many blocks a function has is found by disassembling it from its start to its end. "
        "Files without symbols have no functions; of them only what ran is known. Lines are those "
        "of the files' DWARF, of the programs themselves or of separate debug files.\n\n"
        "Addresses in json are those of the file before relocation, as nm and objdump print "
        "them.\n\n"
        "drcov (version 3) and drcov2 (version 2) are files of DynamoRIO's drcov, for Lighthouse, "
        "Cartographer and the like. lcov is a tracefile for genhtml, of the source files that are "
        "there. bitmap is an AFL-style map: a byte for each hash of an edge, which counts up to "
        "255; addresses do not depend on where the files were mapped.",
    .examples = {{"hodo coverage", "A summary of the last recording."},
                 {"hodo coverage --module myprog --top 0", "All functions of one program."},
                 {"hodo coverage --format lcov run.data > run.info && genhtml --branch-coverage "
                  "run.info -o html",
                  "Coloured source code."},
                 {"hodo coverage --format drcov run.data > run.drcov",
                  "Blocks to load into a disassembler."}},
    .exit_statuses = reading_exit_statuses()};

// Of exports::coverage_formats(); null: text or json.
const exports::CoverageFormat* foreign(const CoverageOptions& options) {
  return options.reading.json ? nullptr
                              : exports::find(exports::coverage_formats(), options.format);
}

bool is_json(const CoverageOptions& options) {
  return options.reading.json || options.format == "json";
}

// The summary tells of functions that did not run how many blocks they have.
analyze::CoverageParts parts(const CoverageOptions& options) {
  const auto* const format = foreign(options);
  return {.lines = format == nullptr || format->lines,
          .not_run = format != nullptr || is_json(options)};
}

// Only the modules whose path has the text; the others lose what they have, not their numbers.
Status select(analyze::Coverage& coverage, const CoverageOptions& options) {
  if (options.module.empty()) return {};
  bool any = false;
  std::vector<std::string> ran;
  const std::string meant = written_bytes(options.module);
  for (analyze::CoveredModule& m : coverage.modules) {
    ran.push_back(m.path);
    const bool wanted = m.path.find(meant) != std::string::npos;
    any = any || wanted;
    if (!wanted) m = {.path = m.path};
  }
  if (!any) {
    return fail(ErrorCode::not_found, fmt::format("no code of a module '{}' ran{}", options.module,
                                                  ask::module_suggestion(options.module, ran)));
  }
  const auto* const format = foreign(options);
  // Text and drcov do not number them for others.
  if (is_json(options) || (format != nullptr && format->numbers)) return {};
  std::erase_if(coverage.modules, [](const analyze::CoveredModule& m) { return m.blocks.empty(); });
  return {};
}

std::string exported(const CoverageOptions& options, const analyze::Coverage& coverage) {
  std::size_t absent = 0;
  std::string out = foreign(options)->write(
      coverage, {.map_size = options.map_size, .wanted = [&](const std::string& path) {
                   const bool there = access(path.c_str(), R_OK) == 0;
                   absent += !there;
                   return there;
                 }});
  if (absent != 0) {
    fmt::print(stderr, "hodo: {} source files are not here and left out\n", absent);
  }
  return out;
}

void write(const CoverageOptions& options, const analyze::Coverage& coverage,
           const session::Session& session, const session::Outcome& outcome, view::Output& out) {
  if (is_json(options)) return view::write_coverage_json(coverage, session, outcome, out);
  if (foreign(options) != nullptr) return out.write(exported(options, coverage));
  out.write(view::coverage_text(coverage, options.top,
                                view::style_for(STDOUT_FILENO, options.reading.color)));
}

int run(const CoverageOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    if (!std::has_single_bit(options.map_size)) {
      return fail(ErrorCode::usage, "--map-size must be a power of two");
    }
    analyze::CoverageCounts counts(session.names());
    auto outcome = count_coverage(session, options.reading, options.window, counts);
    if (!outcome) return std::unexpected(outcome.error());
    analyze::Coverage coverage = analyze::coverage_of(counts, session, parts(options));
    if (Status status = select(coverage, options); !status) return std::unexpected(status.error());
    view::Output out(STDOUT_FILENO);
    write(options, coverage, session, *outcome, out);
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses), .tell = !is_json(options)};
  });
}

}  // namespace

void add_coverage(Program& program) {
  auto options = std::make_shared<CoverageOptions>();
  const OptionSet app =
      program.command("coverage", kCoverageManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_format(app, "--format", options->format, {"text", "json"}, "how to write it (default text)",
             exports::coverage_formats());
  app.add_flag("--json", options->reading.json, "the same as --format json");
  app.add_option("--module", options->module, "only files whose path contains TEXT")
      .type_name("TEXT");
  app.add_option("--top", options->top, "how many functions to list, 0 for all (default 20)")
      .type_name("N");
  app.add_option("--map-size", options->map_size,
                 "bytes of the bitmap, a power of two (default 65536)")
      .range(1, std::uint64_t{1} << 30)
      .type_name("BYTES");
  add_selection_options(app, options->reading);
  add_window_options(app, options->reading, options->window, false);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
