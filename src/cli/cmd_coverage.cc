// hodo coverage: which code has run.
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <memory>

#include "commands.h"
#include "coverage_decoding.h"
#include "hodo/analyze/coverage.h"
#include "hodo/analyze/coverage_formats.h"
#include "hodo/view/coverage.h"
#include "hodo/view/text.h"
#include "reading.h"

namespace hodo::cli {
namespace {

enum class Format : unsigned char { text, json, drcov, drcov2, lcov, bitmap };

struct Options {
  ReadingOptions reading;
  WindowInput window;
  Format format = Format::text;
  std::string module;
  std::size_t top = 20;
  std::uint64_t map_size = 65536;
};

const Manual kManual{
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

bool wants_lines(Format format) {
  return format == Format::text || format == Format::json || format == Format::lcov;
}

// Only the modules whose path has `part`; the others lose what they have, not their numbers.
void select(analyze::Coverage& coverage, const std::string& part, Format format) {
  if (part.empty()) return;
  for (analyze::CoveredModule& m : coverage.modules) {
    if (m.path.find(part) == std::string::npos) m = {.path = m.path};
  }
  // Text and drcov do not number them for others.
  if (format == Format::json || format == Format::bitmap) return;
  std::erase_if(coverage.modules, [](const analyze::CoveredModule& m) { return m.blocks.empty(); });
}

std::string lcov_text(const analyze::Coverage& coverage) {
  std::size_t absent = 0;
  std::string out = analyze::lcov(coverage, [&](const std::string& path) {
    bool there = access(path.c_str(), R_OK) == 0;
    absent += !there;
    return there;
  });
  if (absent != 0) {
    std::string line = fmt::format("hodo: {} source files are not here and left out\n", absent);
    std::fputs(line.c_str(), stderr);
  }
  return out;
}

std::string bitmap(const analyze::Coverage& coverage, std::size_t size) {
  std::vector<std::uint8_t> map(size);
  analyze::add_to_bitmap(coverage, map);
  return {map.begin(), map.end()};
}

void write(const Options& options, Format format, const analyze::Coverage& coverage,
           const session::Session& session, const session::Outcome& outcome, view::Output& out) {
  switch (format) {
    case Format::text:
      return out.write(view::coverage_text(coverage, options.top,
                                           view::style_for(STDOUT_FILENO, options.reading.color)));
    case Format::json:
      return view::write_coverage_json(coverage, session, outcome, out);
    case Format::drcov:
      return out.write(analyze::drcov(coverage, analyze::DrcovVersion::v3));
    case Format::drcov2:
      return out.write(analyze::drcov(coverage, analyze::DrcovVersion::v2));
    case Format::lcov:
      return out.write(lcov_text(coverage));
    case Format::bitmap:
      return out.write(bitmap(coverage, options.map_size));
  }
}

int run(const Options& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    if (!std::has_single_bit(options.map_size)) {
      return fail(ErrorCode::usage, "--map-size must be a power of two");
    }
    analyze::CoverageCounts counts(session.names());
    auto outcome = count_coverage(session, options.reading, options.window, counts);
    if (!outcome) return std::unexpected(outcome.error());
    Format format = options.reading.json ? Format::json : options.format;
    analyze::Coverage coverage = analyze::coverage_of(counts, session, wants_lines(format));
    select(coverage, options.module, format);
    view::Output out(STDOUT_FILENO);
    write(options, format, coverage, session, *outcome, out);
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses), .tell = format != Format::json};
  });
}

}  // namespace

void add_coverage(Program& program) {
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("coverage", kManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  add_choice<Format>(app, "--format", options->format,
                     {{"text", Format::text},
                      {"json", Format::json},
                      {"drcov", Format::drcov},
                      {"drcov2", Format::drcov2},
                      {"lcov", Format::lcov},
                      {"bitmap", Format::bitmap}},
                     "how to write it (default text)");
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
  add_window_options(app, options->window, false);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
