// hodo diff: where two runs part, and what only one of them did.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "asking.h"
#include "commands.h"
#include "hodo/ask/spectrum.h"
#include "hodo/serve/diffs.h"
#include "hodo/serve/many_runs.h"
#include "hodo/view/differences.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/text.h"
#include "output_file.h"

namespace hodo::cli {
namespace {

enum class DiffFormat : unsigned char { text, json, html };

struct DiffOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::vector<std::string> calls;
  std::vector<std::int32_t> threads;
  std::vector<std::string> failing;
  std::size_t top = 20;
  DiffFormat format = DiffFormat::text;
  std::string output = "-";
};

const Manual kDiffManual{
    .summary = "show where two runs part, and what only one of them did",
    .description =
        "Compares the paths of two recordings, thread by thread: the first place where they went"
        " different ways, with the source line, both ways, and the open calls; where they meet"
        " again; the further places. Then which functions, lines and conditional branches only one"
        " of them executed, and which not equally often: the program's own before those of "
        "libraries.\n\n"
        "Places are compared by file and offset, so that addresses, process and thread numbers and "
        "times may differ. Threads are paired in the order in which processes and their threads "
        "were made. Interruptions after which a thread goes on as before are left out, and so is what "
        "memcpy, strlen and their like do within themselves, which goes by where their arguments "
        "lie, and the loader's search for a function when it is first called. So is how often "
        "a loop goes round that has nothing but a PAUSE. Where one waited for other threads and the "
        "other did not, or not so (in locks, pthread_join and futexes, in loops of sched_yield and "
        "sleeps), and both went on alike in the same function, that is told "
        "apart, and the first parting is another one. Where a file is another "
        "build, functions whose instructions are laid out as before are compared as ever; of others "
        "only what they call, by its name, as if what only one build has, or calls so often, were "
        "inlined in the other, unless its debug information says that GCC compiled both with the same "
        "switches and inlined it nowhere; and how the loader loads it is left out. A program that only "
        "one run has is compared with the one that only the other has, as another build of it; so are "
        "two versions of a library. Where only one build has source lines, lines are not compared; where "
        "functions that are laid out as before begin in other lines, B's are called as in A, and those "
        "that the change itself may have made are left out. A "
        "program that goes by other addresses, as one that hashes pointers, parts where these "
        "differ: record it with 'setarch -R' before its name, with PYTHONHASHSEED=0 for Python and "
        "PERL_HASH_SEED=0 for Perl.\n\n"
        "With two --call the parts of one path are compared, as call:FUNCTION#N are numbered by hodo"
        " list; with two --thread two threads. Both may be of one recording or of two.\n\n"
        "--only-in takes recordings of failing runs, and behind -- those of passing ones, and ranks"
        " functions, lines and branches by how well they tell the two apart: 1 is what all failing"
        " runs executed and no passing one did. Of builds that are not the same, lines are called as in "
        "the first recording, as above.\n\n"
        "The exit status is 1 if there is a difference.",
    .examples = {{"hodo diff good.data bad.data", "Where the bad run leaves the good one's path."},
                 {"hodo diff run.data --call parse#17 --call parse#18",
                  "Two calls of one function."},
                 {"hodo diff run.data --thread 4242 --thread 4243", "Two threads."},
                 {"hodo diff --only-in fail1 fail2 -- pass1 pass2 pass3",
                  "What only failing runs do."},
                 {"hodo diff good.data bad.data --json | jq '.paths[0].first'", "For programs."},
                 {"hodo diff good.data bad.data --format html -o diff.html", "A page to hand on."}},
    .exit_statuses = {{"0", "No difference."},
                      {"1", "The runs differ."},
                      {"2", "Wrong use, or a recording that cannot be read."},
                      {"3",
                       "No difference, but a part of a recording was lost, or "
                       "could not be compared."}}};

Result<std::unique_ptr<session::Session>> open(const DiffOptions& options,
                                               const std::string& file) {
  ReadingOptions reading = options.reading;
  reading.file = file;
  auto input = input_of(reading);
  if (!input) return std::unexpected(input.error());
  auto session = session::Session::open(*input);
  if (session) tell_growing(file, **session);
  return session;
}

Error about(const std::string& file, Error error) {
  if (error.code != ErrorCode::usage)
    error.message = file + ": " + without_name(error.message, file);
  return error;
}

// An opened recording, to be compared.
struct OpenedRun {
  std::unique_ptr<session::Session> session;
  serve::Run run;
};

Result<OpenedRun> open_run(const DiffOptions& options, const std::string& file,
                           view::Progress& progress) {
  auto session = open(options, file);
  if (!session) return std::unexpected(about(file, session.error()));
  auto run = serve::run_of(**session, file, told_to(progress));
  if (!run) return std::unexpected(run.error());
  return OpenedRun{std::move(*session), std::move(*run)};
}

// In the way that was asked for; `text` is given the style.
template <class Text, class Json, class Html>
Status write(const DiffOptions& options, Text text, Json json, Html html) {
  std::vector<std::string> inputs = options.files;
  inputs.insert(inputs.end(), options.failing.begin(), options.failing.end());
  auto file = OutputFile::open(options.output, inputs);
  if (!file) return std::unexpected(file.error());
  const int fd = file->fd();
  view::Output out(fd);
  switch (options.reading.json ? DiffFormat::json : options.format) {
    case DiffFormat::text:
      out.write(text(view::style_for(fd, options.reading.color)));
      break;
    case DiffFormat::json:
      out.write(view::json_text(json()));
      break;
    case DiffFormat::html:
      out.write(html());
      break;
  }
  const Status written = out.finish();
  return written ? file->keep() : written;
}

Result<int> diff_two(const DiffOptions& options, view::Progress& progress) {
  const std::string& last = options.files.back();
  auto a = open_run(options, options.files[0], progress);
  if (!a) return std::unexpected(a.error());
  auto b = open_run(options, last, progress);
  if (!b) return std::unexpected(b.error());
  const serve::DiffInput input{
      .calls = options.calls, .threads = options.threads, .top = options.top};
  auto diff = serve::diff_of(a->run, b->run, input, told_to(progress));
  if (!diff) return std::unexpected(diff.error());
  progress.clear();
  Status written = write(
      options, [&](const view::Style& style) { return view::diff_text(*diff, style); },
      [&] { return view::diff_json(*diff); }, [&] { return view::diff_html(*diff); });
  if (!written) return std::unexpected(written.error());
  if (view::differs(*diff)) return kExitFindings;
  return diff->complete ? kExitOk : kExitIncomplete;
}

Status add(const DiffOptions& options, const std::vector<std::string>& files,
           view::Progress& progress, serve::ManyRuns& runs) {
  for (const std::string& file : files) {
    auto session = open(options, file);
    if (!session) return std::unexpected(about(file, session.error()));
    Status added = runs.add(std::move(*session), told_to(progress));
    if (!added) return std::unexpected(about(file, added.error()));
  }
  return {};
}

Result<int> diff_many(const DiffOptions& options, view::Progress& progress) {
  serve::ManyRuns runs;
  for (const auto& files : {options.failing, options.files}) {
    if (Status added = add(options, files, progress, runs); !added) {
      return std::unexpected(added.error());
    }
  }
  const serve::ManyRuns::Outcome ran = runs.finish();
  progress.clear();
  for (const std::string& note : ran.notes) {
    fmt::print(stderr, "hodo: {}\n", view::printable(note));
  }
  const std::size_t bad = options.failing.size(), good = options.files.size();
  const auto all = ask::suspects(std::span(ran.runs).first(bad), std::span(ran.runs).subspan(bad));
  Status written = write(
      options,
      [&](const view::Style& style) {
        return view::suspects_text(all, bad, good, options.top, style);
      },
      [&] { return view::suspects_json(all, options.top); },
      [&] { return view::suspects_html(all, bad, good, options.top); });
  if (!written) return std::unexpected(written.error());
  if (ran.lost) std::fputs("hodo: parts of these recordings were lost\n", stderr);
  const bool any = std::ranges::any_of(
      all, [&](const ask::Suspect& s) { return s.failing == bad && s.passing == 0; });
  return any ? kExitFindings : ran.complete ? kExitOk : kExitIncomplete;
}

Status usage(const DiffOptions& options) {
  if (!options.failing.empty()) {
    if (!options.calls.empty() || !options.threads.empty()) {
      return fail(ErrorCode::usage, "--only-in goes without --call and --thread");
    }
    if (options.files.empty()) {
      return fail(ErrorCode::usage,
                  "--only-in needs recordings of passing runs, too: give them behind --");
    }
    for (const std::string& file : options.files) {
      if (!file.starts_with("-") || file == "-") continue;
      return fail(ErrorCode::usage,
                  fmt::format("'{}' stands behind --, where recordings are: give options before "
                              "--only-in",
                              file));
    }
    return {};
  }
  const bool parts = !options.calls.empty() || !options.threads.empty();
  if (!options.calls.empty() && !options.threads.empty()) {
    return fail(ErrorCode::usage, "--call and --thread exclude each other");
  }
  if (parts && options.calls.size() + options.threads.size() != 2) {
    return fail(ErrorCode::usage, "--call and --thread are given twice: what to compare with what");
  }
  if (options.files.empty() || options.files.size() > 2 || (options.files.size() == 1 && !parts)) {
    return fail(ErrorCode::usage,
                "give two recordings, or one and two --call or --thread; --only-in takes more");
  }
  return {};
}

int run(const DiffOptions& options) {
  if (Status good = usage(options); !good) return report_error("", good.error());
  view::Progress progress("comparing");
  auto status =
      options.failing.empty() ? diff_two(options, progress) : diff_many(options, progress);
  if (status) return *status;
  progress.clear();
  return report_error("", status.error());
}

}  // namespace

void add_diff(Program& program) {
  auto options = std::make_shared<DiffOptions>();
  const OptionSet app = program.command("diff", kDiffManual, [options] { return run(*options); });
  app.add_option("FILES", options->files,
                 "the recordings; behind --only-in ... --, the passing runs");
  app.add_option("--call", options->calls, "a call to compare, as FUNCTION#N; given twice")
      .type_name("CALL")
      .one_at_a_time();
  app.add_option("--thread,--tid", options->threads, "a thread to compare; given twice")
      .type_name("TID")
      .one_at_a_time();
  app.add_option("--only-in", options->failing, "recordings of failing runs, up to --")
      .type_name("FILE");
  app.add_option("--top", options->top,
                 "how many functions, lines and branches to list, 0 for all (default 20)")
      .type_name("N");
  app.add_option("--symfs", options->reading.symfs,
                 "the files that the recordings name lie below DIR")
      .type_name("DIR")
      .existing_directory();
  add_substitute_option(app, options->reading);
  add_choice<DiffFormat>(
      app, "--format", options->format,
      {{"text", DiffFormat::text}, {"json", DiffFormat::json}, {"html", DiffFormat::html}},
      "how to write it: for people (text, the default, or html, one page without "
      "scripts), or one JSON object");
  app.add_flag("--json", options->reading.json, "the same as --format json");
  app.add_option("-o,--output", options->output, "write to FILE instead of standard output (-)")
      .type_name("FILE");
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
