// hodo diff: where two runs part, and what only one of them did.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
#include "hodo/ask/builds.h"
#include "hodo/ask/calls.h"
#include "hodo/ask/compare.h"
#include "hodo/ask/spectrum.h"
#include "hodo/view/differences.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"

namespace hodo::cli {
namespace {

struct Options {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::vector<std::string> calls;
  std::vector<std::int32_t> threads;
  std::vector<std::string> failing;
  std::size_t top = 20;
};

const Manual kManual{
    .summary = "show where two runs part, and what only one of them did",
    .description =
        "Compares the paths of two recordings, thread by thread: the first place where they went"
        " different ways, with the source line, both ways, and the open calls; where they meet"
        " again; the further places. Then which functions, lines and conditional branches only one"
        " of them executed, and which not equally often.\n\n"
        "Places are compared by file and offset, so that addresses, process and thread numbers and "
        "times may differ. Threads are paired in the order in which processes and their threads "
        "appear. Interruptions after which a thread goes on as before are left out, and so is what "
        "memcpy, strlen and their like do within themselves, which goes by where their arguments "
        "lie. Where a file is another build, calls and returns are compared by the functions' "
        "names. A program that goes by other addresses, as one that hashes pointers, parts where "
        "these differ: record it with 'setarch -R' before its name, and PYTHONHASHSEED=0 for "
        "Python.\n\n"
        "With two --call the parts of one path are compared, as call:FUNCTION#N are numbered by hodo"
        " list; with two --thread two threads. Both may be of one recording or of two.\n\n"
        "--only-in takes recordings of failing runs, and behind -- those of passing ones, and ranks"
        " functions, lines and branches by how well they tell the two apart: 1 is what all failing"
        " runs executed and no passing one did.\n\n"
        "The exit status is 1 if there is a difference.",
    .examples = {{"hodo diff good.data bad.data", "Where the bad run leaves the good one's path."},
                 {"hodo diff run.data --call parse#17 --call parse#18",
                  "Two calls of one function."},
                 {"hodo diff run.data --thread 4242 --thread 4243", "Two threads."},
                 {"hodo diff --only-in fail1 fail2 -- pass1 pass2 pass3",
                  "What only failing runs do."},
                 {"hodo diff good.data bad.data --json | jq '.paths[0].first'", "For programs."}},
    .exit_statuses = {{"0", "No difference."},
                      {"1", "The runs differ."},
                      {"2", "Wrong use, or a recording that cannot be read."},
                      {"3", "No difference, but a part of a recording was lost."}}};

// An opened recording with what is known of it.
struct Run {
  std::string file;
  std::unique_ptr<session::Session> session;
  std::vector<ask::LastMoment> threads;
  session::Outcome outcome;
};

Result<std::unique_ptr<session::Session>> open(const Options& options, const std::string& file) {
  ReadingOptions reading = options.reading;
  reading.file = file;
  auto input = input_of(reading);
  if (!input) return std::unexpected(input.error());
  return session::Session::open(*input);
}

Error about(const std::string& file, Error error) {
  if (error.code != ErrorCode::usage)
    error.message = file + ": " + without_name(error.message, file);
  return error;
}

Result<Run> open_run(const Options& options, const std::string& file, view::Progress& progress) {
  auto session = open(options, file);
  if (!session) return std::unexpected(about(file, session.error()));
  Run out{.file = file, .session = std::move(*session)};
  auto threads = ask::last_moments(*out.session, {.progress = told_to(progress)}, &out.outcome);
  if (!threads) return std::unexpected(about(file, threads.error()));
  out.threads = std::move(*threads);
  return out;
}

struct Pair {
  ask::Side a, b;
  std::string a_name, b_name;
};

std::string thread_name(const ask::LastMoment& last) {
  return last.who.tid < 0 ? ask::text(last.moment.thread)
                          : fmt::format("{}/{}", last.who.pid, last.who.tid);
}

// A thread's number of its process, and of itself in that, in the order of appearance.
std::map<std::pair<std::size_t, std::size_t>, const ask::LastMoment*> numbered(const Run& run) {
  std::map<std::pair<std::size_t, std::size_t>, const ask::LastMoment*> out;
  std::vector<std::pair<std::int32_t, std::size_t>> processes;
  for (const ask::LastMoment& last : run.threads) {
    auto it =
        std::ranges::find(processes, last.who.pid, &std::pair<std::int32_t, std::size_t>::first);
    if (it == processes.end()) it = processes.insert(it, {last.who.pid, 0});
    out[{static_cast<std::size_t>(it - processes.begin()), it->second++}] = &last;
  }
  return out;
}

std::vector<Pair> pair_threads(Run& a, Run& b, std::vector<std::string>& unpaired) {
  std::vector<Pair> out;
  const auto in_a = numbered(a);
  const auto in_b = numbered(b);
  for (const auto& [place, last] : in_a) {
    const auto other = in_b.find(place);
    if (other == in_b.end()) {
      unpaired.push_back("A's thread " + thread_name(*last));
      continue;
    }
    out.push_back({{a.session.get(), last->moment.thread},
                   {b.session.get(), other->second->moment.thread},
                   "A " + thread_name(*last),
                   "B " + thread_name(*other->second)});
  }
  for (const auto& [place, last] : in_b) {
    if (!in_a.contains(place)) unpaired.push_back("B's thread " + thread_name(*last));
  }
  return out;
}

// "parse#17": the branches of that call.
Result<ask::Side> side_of_call(session::Session& session, const std::string& written,
                               view::Progress& progress) {
  auto row = ask::find_call(session, written, {.progress = told_to(progress)});
  if (!row) return std::unexpected(row.error());
  // The branch that leads out is the caller's: two calls may have come from different places.
  const bool out = row->outcome == ask::CallRow::Outcome::returned;
  return ask::Side{&session, row->at.thread, row->at.branch, row->until.branch - (out ? 1 : 0)};
}

Result<Pair> chosen_pair(const Options& options, Run& a, Run& b, view::Progress& progress) {
  Pair out;
  if (!options.calls.empty()) {
    for (const bool first : {true, false}) {
      const std::string& written = options.calls[first ? 0 : 1];
      auto side = side_of_call(*(first ? a : b).session, written, progress);
      if (!side) return std::unexpected(about((first ? a : b).file, side.error()));
      (first ? out.a : out.b) = *side;
      (first ? out.a_name : out.b_name) = (first ? "A " : "B ") + written;
    }
    return out;
  }
  out.a = {a.session.get(), {.tid = options.threads[0]}};
  out.b = {b.session.get(), {.tid = options.threads[1]}};
  out.a_name = fmt::format("A {}", options.threads[0]);
  out.b_name = fmt::format("B {}", options.threads[1]);
  return out;
}

// What a run, or the part of it, executed.
struct Ran {
  explicit Ran(session::Session& session)
      : counts(session.names()), builds(session.names(), counts) {}
  analyze::CoverageCounts counts;
  ask::Builds builds;
};

Status cover(session::Session& session, const std::optional<ask::Side>& side, Ran& ran,
             view::Progress& progress) {
  session::DecodeOptions how{.progress = told_to(progress)};
  auto outcome = Result<session::Outcome>();
  if (side) {
    how.not_taken = true;
    const auto runs = ask::as_runs(ran.builds);
    outcome =
        ask::decode_window(session, {.thread = side->thread, .from = side->from, .to = side->to},
                           {.walk = how, .mark_gaps = true}, *runs);
  } else {
    outcome = session.cover(how, ran.builds);
  }
  return outcome ? Status() : std::unexpected(outcome.error());
}

Status add_path(const Pair& pair, const std::set<std::string>& rebuilt, view::DiffView& diff,
                view::Progress& progress) {
  ask::CompareOptions how{.rebuilt = rebuilt, .progress = told_to(progress)};
  auto comparison = ask::compare(pair.a, pair.b, how);
  if (!comparison) return std::unexpected(comparison.error());
  view::ComparedPaths paths{.a = pair.a, .b = pair.b, .a_name = pair.a_name, .b_name = pair.b_name};
  paths.comparison = std::move(*comparison);
  if (!paths.comparison.partings.empty()) {
    const ask::Parting& first = paths.comparison.partings.front();
    const ask::SceneOptions around{
        .before = 4, .after = 4, .reach = 4, .progress = told_to(progress)};
    auto a = ask::scene_at(*pair.a.session, first.a, around);
    if (!a) return std::unexpected(a.error());
    auto b = ask::scene_at(*pair.b.session, first.b, around);
    if (!b) return std::unexpected(b.error());
    paths.a_scene = std::move(*a);
    paths.b_scene = std::move(*b);
  }
  diff.paths.push_back(std::move(paths));
  return {};
}

Status compare_runs(const Options& options, Run& a, Run& b, view::DiffView& diff,
                    view::Progress& progress) {
  std::vector<Pair> pairs;
  const bool parts = !options.calls.empty() || !options.threads.empty();
  if (parts) {
    auto pair = chosen_pair(options, a, b, progress);
    if (!pair) return std::unexpected(pair.error());
    pairs.push_back(std::move(*pair));
  } else {
    pairs = pair_threads(a, b, diff.unpaired);
  }
  Ran ran_a(*a.session);
  Ran ran_b(*b.session);
  const auto part = [&](const ask::Side& side) {
    return parts ? std::optional(side) : std::nullopt;
  };
  if (pairs.empty()) return fail(ErrorCode::not_found, "one of the recordings has no branches");
  if (Status s = cover(*a.session, part(pairs[0].a), ran_a, progress); !s) return s;
  if (Status s = cover(*b.session, part(pairs[0].b), ran_b, progress); !s) return s;
  const std::set<std::string> rebuilt = ask::rebuilt(ran_a.builds, ran_b.builds);
  for (const std::string& file : rebuilt) {
    diff.notes.push_back(file + " is another build: its calls and returns are compared by name");
  }
  for (const Pair& pair : pairs) {
    if (Status s = add_path(pair, rebuilt, diff, progress); !s) return s;
  }
  diff.differences =
      ask::differences(ask::spectrum_of(analyze::coverage_of(ran_a.counts, *a.session, true)),
                       ask::spectrum_of(analyze::coverage_of(ran_b.counts, *b.session, true)));
  return {};
}

Status write(const Options& options, const std::string& text, const nlohmann::ordered_json& json) {
  view::Output out(STDOUT_FILENO);
  out.write(options.reading.json ? view::json_text(json) : text);
  return out.finish();
}

bool differs(const view::DiffView& diff) {
  return !diff.unpaired.empty() || !diff.differences.empty() ||
         std::ranges::any_of(diff.paths,
                             [](const view::ComparedPaths& p) { return !p.comparison.equal; });
}

Result<int> diff_two(const Options& options, view::Progress& progress) {
  const std::string& last = options.files.back();
  auto a = open_run(options, options.files[0], progress);
  if (!a) return std::unexpected(a.error());
  auto b = open_run(options, last, progress);
  if (!b) return std::unexpected(b.error());
  view::DiffView diff{.top = options.top};
  for (const Run* run : {&*a, &*b}) {
    for (const session::LossLine& line : run->outcome.losses) {
      diff.notes.push_back(
          fmt::format("{}: lost: {} ({} times)", run->file, line.cause, line.count));
    }
    if (options.files.size() == 1) break;
  }
  if (Status status = compare_runs(options, *a, *b, diff, progress); !status) {
    return std::unexpected(status.error());
  }
  progress.clear();
  const auto style = view::style_for(STDOUT_FILENO, options.reading.color);
  const bool json = options.reading.json;
  Status written = write(options, json ? "" : view::diff_text(diff, style),
                         json ? view::diff_json(diff) : nlohmann::ordered_json());
  if (!written) return std::unexpected(written.error());
  if (differs(diff)) return kExitFindings;
  return a->outcome.complete() && b->outcome.complete() ? kExitOk : kExitIncomplete;
}

Result<std::vector<ask::Spectrum>> spectra(const Options& options,
                                           const std::vector<std::string>& files, bool& complete,
                                           view::Progress& progress) {
  std::vector<ask::Spectrum> out;
  for (const std::string& file : files) {
    auto session = open(options, file);
    if (!session) return std::unexpected(about(file, session.error()));
    analyze::CoverageCounts counts((*session)->names());
    auto outcome = (*session)->cover({.progress = told_to(progress)}, counts);
    if (!outcome) return std::unexpected(about(file, outcome.error()));
    complete &= outcome->complete();
    out.push_back(ask::spectrum_of(analyze::coverage_of(counts, **session, true)));
  }
  return out;
}

Result<int> diff_many(const Options& options, view::Progress& progress) {
  bool complete = true;
  auto failing = spectra(options, options.failing, complete, progress);
  if (!failing) return std::unexpected(failing.error());
  auto passing = spectra(options, options.files, complete, progress);
  if (!passing) return std::unexpected(passing.error());
  progress.clear();
  const auto all = ask::suspects(*failing, *passing);
  const auto style = view::style_for(STDOUT_FILENO, options.reading.color);
  Status written =
      write(options, view::suspects_text(all, failing->size(), passing->size(), options.top, style),
            view::suspects_json(all, options.top));
  if (!written) return std::unexpected(written.error());
  if (!complete) std::fputs("hodo: parts of these recordings were lost\n", stderr);
  const bool any = std::ranges::any_of(
      all, [&](const ask::Suspect& s) { return s.failing == failing->size() && s.passing == 0; });
  return any ? kExitFindings : complete ? kExitOk : kExitIncomplete;
}

Status usage(const Options& options) {
  if (!options.failing.empty()) {
    if (!options.calls.empty() || !options.threads.empty()) {
      return fail(ErrorCode::usage, "--only-in goes without --call and --thread");
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

int run(const Options& options) {
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
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("diff", kManual, [options] { return run(*options); });
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
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
