// hodo show: one moment of a recording.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
#include "hodo/ask/navigate.h"
#include "hodo/serve/recording_index.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/output.h"

namespace hodo::cli {
namespace {

struct Options {
  ReadingOptions reading;
  std::string moment;
  std::vector<std::string> steps;
  std::string next;
  std::string previous;
  std::size_t around = 8;
  bool no_index = false;
};

const Manual kManual{
    .summary = "show one moment of a recording",
    .description =
        "Says where a thread stood at a moment: the open calls with their source lines, the "
        "source, instructions and branches around it, and the moments to which single steps lead "
        "from there, back and forward, to be given to hodo show again. Where the recording has "
        "several threads, also where the others were at that time.\n\n"
        "A moment is a place on a thread's path. THREAD:N stands behind the thread's N-th branch, "
        "as hodo branches --tid numbers its lines from 1, and THREAD:N+K another K instructions "
        "on; it is the same for everybody who has the recording. Also: SECONDS.NANOSECONDS or "
        "time:NANOSECONDS (the newest branch of any thread that is not later), start and end (with "
        ":THREAD), crash (with :PID where several crashed), finding:N as hodo check lists them, "
        "call:FUNCTION#N and return:FUNCTION#N (its N-th call), line:FILE:LINE#N and at:ADDRESS#N "
        "or at:SYMBOL+OFFSET#N (the N-th time that the path comes there). #1 may be left out; "
        "where several functions have one name, write OBJECT!FUNCTION.\n\n"
        "--step walks on from the moment; it may be given several times. insn is one instruction; "
        "line the beginning of another source line, also in a function that is called; over the "
        "same, but not into calls; call the next function that is entered; return what is behind "
        "the next return; out the place behind the end of the innermost open call, and back the "
        "call itself. With a - in front they go back. --next and --previous go to where the thread "
        "executes a function, FILE:LINE or address the next or the last time.\n\n"
        "Of a long recording of Intel PT an index is made at the first question, and kept in "
        "~/.cache/hodoscope/recordings; from then on THREAD:N, times, start, end and crash take no "
        "decoding from the beginning. It is found by the recording's content and by the files whose "
        "code ran, and is never needed.",
    .examples = {{"hodo show crash", "Where the program died."},
                 {"hodo show call:parse#17 run.data", "The seventeenth call of parse."},
                 {"hodo show 4242:1700 --step out", "Where it returns to."},
                 {"hodo show crash --previous node.cc:42",
                  "When line 42 ran last before the crash."},
                 {"hodo show line:node.cc:42#2 --json | jq .calls", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

struct NamedStep {
  ask::StepKind kind;
  bool forward;
};

Result<NamedStep> step_named(const std::string& word) {
  const bool back = word.starts_with('-');
  for (std::size_t i = 0; i < ask::kStepKinds; ++i) {
    const auto kind = static_cast<ask::StepKind>(i);
    if (word.substr(back ? 1 : 0) == ask::name(kind)) return NamedStep{kind, !back};
  }
  return fail(ErrorCode::usage, fmt::format("--step '{}' is none of insn, line, over, call, "
                                            "return, out, or these with a - in front",
                                            word));
}

// "FILE:LINE", "0x401136", "SYMBOL+0x10" or a function.
ask::Wanted wanted_by(const std::string& text) {
  for (const char* form : {"line:", "at:"}) {
    const bool could = *form == 'l' ? text.find(':') != text.npos && text.find("::") == text.npos
                                    : text.starts_with("0x") || text.find("+0x") != text.npos;
    auto spec = ask::parse_moment(form + text);
    if (!could || !spec) continue;
    return {.kind = *form == 'l' ? ask::Wanted::Kind::line : ask::Wanted::Kind::address,
            .name = spec->name,
            .value = spec->value};
  }
  return {.kind = ask::Wanted::Kind::call, .name = text};
}

Result<ask::Moment> walk_on(session::Session& session, ask::Moment at, const Options& options,
                            const ask::IndexedRecording* index,
                            const session::ProgressFunction& progress) {
  for (const bool forward : {true, false}) {
    const std::string& wanted = forward ? options.next : options.previous;
    if (wanted.empty()) continue;
    auto there = ask::occurrence_from(session, at, wanted_by(wanted), forward, progress);
    if (!there) return there;
    at = *there;
  }
  for (const std::string& word : options.steps) {
    auto step = step_named(word);
    if (!step) return std::unexpected(step.error());
    auto there = ask::step_from(session, at, step->kind, step->forward, progress, index);
    if (!there) return there;
    at = *there;
  }
  return at;
}

// Where the other threads were.
Result<std::vector<ask::MomentInTime>> others(session::Session& session, const ask::Scene& scene,
                                              const ask::IndexedRecording* index,
                                              const session::ProgressFunction& progress) {
  std::vector<ask::MomentInTime> out;
  session::Clock clock = session.clock();
  if (session.queues().size() < 2 || scene.time == 0 || scene.who.pid < 0) return out;
  auto all = ask::moments_at(session, clock.nanoseconds(scene.time),
                             {.selection = {.pid = scene.who.pid}, .progress = progress}, index);
  if (!all) return std::unexpected(all.error());
  for (ask::MomentInTime& other : *all) {
    if (other.moment.thread != scene.moment.thread) out.push_back(other);
  }
  return out;
}

int run(const Options& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    const auto tell = told_to(progress);
    const auto index = options.no_index ? nullptr : serve::index_of(session, tell);
    ask::FindOptions how = find_options(session, options.reading, progress);
    how.index = index.get();
    auto moment = ask::find_moment(session, options.moment, how);
    if (moment) moment = walk_on(session, *moment, options, index.get(), tell);
    if (!moment) return std::unexpected(moment.error());
    auto scene = ask::scene_at(session, *moment,
                               {.before = options.around + 256,
                                .after = options.around + 256,
                                .progress = tell,
                                .index = index.get()});
    if (!scene) return std::unexpected(scene.error());
    view::SceneView what(session, *scene, options.around);
    auto elsewhere = others(session, *scene, index.get(), tell);
    if (!elsewhere) return std::unexpected(elsewhere.error());
    what.others = std::move(*elsewhere);
    progress.clear();
    view::Output out(STDOUT_FILENO);
    auto value = options.reading.json ? view::scene_json(what) : nlohmann::ordered_json();
    if (options.reading.json) value["losses"] = view::losses_json(scene->losses, session.clock());
    out.write(options.reading.json
                  ? view::json_text(value)
                  : view::scene_text(what, view::style_for(STDOUT_FILENO, options.reading.color)));
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(scene->losses), .tell = !options.reading.json};
  });
}

}  // namespace

void add_show(Program& program) {
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("show", kManual, [options] { return run(*options); });
  app.add_option("MOMENT", options->moment, "the moment: 4242:1700, crash, call:parse#17, ...")
      .required();
  add_input_options(app, options->reading);
  app.add_option("--step", options->steps,
                 "go on by a step: insn, line, over, call, return or out; back with a - in front, "
                 "as --step=-line; may be given several times")
      .type_name("STEP")
      .one_at_a_time();
  app.add_option("--next", options->next,
                 "go to where the thread comes next to this function, FILE:LINE or address")
      .type_name("WHERE");
  app.add_option("--previous", options->previous,
                 "go back to where the thread came last to this function, FILE:LINE or address")
      .type_name("WHERE");
  app.add_option("--around", options->around,
                 "source lines, instructions and branches on either side (default 8)")
      .range(1, 100'000)
      .type_name("N");
  app.add_flag("--no-index", options->no_index,
               "neither use nor make an index of the recording (default: of a long one)");
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
