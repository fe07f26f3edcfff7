// hodo crash: how each process ended.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
#include "hodo/serve/ends.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/output.h"
#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

struct Options {
  ReadingOptions reading;
  std::size_t around = 12;
};

const Manual kManual{
    .summary = "show how each process ended, and what led up to it",
    .description =
        "Says of each process how it ended. Of those that a signal ended it shows the thread that "
        "took it: the instruction where it happened, which was not executed if it faulted, the "
        "open calls with their source lines, the source lines, instructions and branches that were "
        "executed last. Of a process that was killed from outside, as by SIGKILL, it shows where "
        "each of its threads stood last.\n\n"
        "Recorders other than hodo do not note how processes end. Of their recordings the ends of "
        "all threads' paths are shown.\n\n"
        "The first moment that is shown can be given to hodo show, which steps back from there; "
        "`crash` stands for it in every command that takes a moment.",
    .examples = {{"hodo crash", "How the last recording ended."},
                 {"hodo crash --pid 4242 run.data", "One process of many."},
                 {"hodo show crash --step=-line", "One line back."},
                 {"hodo crash --json | jq '.processes[].threads[0].calls'", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

constexpr std::size_t kMostListed = 100;  // processes

// Puts it into words.
class Teller {
 public:
  Teller(session::Session& session, const Options& options, const ask::FindOptions& how)
      : session_(session),
        options_(options),
        how_(how),
        style_(view::style_for(STDOUT_FILENO, options.reading.color)) {}

  Status add(const serve::Ended& ended) {
    begin(ended);
    for (const ask::LastMoment& last : ended.threads) {
      if (shown_++ == serve::kMostLastScenes) {
        text_ += "\nmore threads are left out; --pid and --tid choose\n";
        break;
      }
      auto scene = serve::last_scene(session_, last, how_.walk.progress, how_.index);
      if (!scene) return std::unexpected(scene.error());
      view::SceneView what(session_, *scene, options_.around);
      add_text(what);
    }
    return {};
  }

  std::string take() { return std::move(text_); }

 private:
  void begin(const serve::Ended& ended) {
    const session::ProcessEnd& end = ended.end;
    if (!text_.empty() && !ended.threads.empty()) text_ += "\n";
    const std::string name =
        end.pid < 0
            ? "the trace"
            : fmt::format("{}{}", end.comm.empty() ? "process " : view::printable(end.comm) + " ",
                          end.pid);
    const auto tone = ask::is_crash(end) ? view::Tone::bad : view::Tone::plain;
    text_ += style_.paint(tone, fmt::format("{}: {}", name, serve::end_words(ended))) + "\n";
  }

  void add_text(view::SceneView& what) {
    const ask::Scene& scene = what.scene;
    text_ += fmt::format("\n{:<13}{}\n", "moment", ask::text(scene.moment));
    if (scene.address != 0) {
      const auto place = session_.names().place(scene.who.space, scene.address, scene.time);
      text_ += fmt::format("{:<13}{}\n", "stands at", view::describe(scene.address, place, style_));
      text_ += fmt::format(
          "{:<13}{}\n", "instruction",
          view::printable(what.code.disassemble(scene.who.space, scene.address, scene.time)));
    } else {
      text_ += fmt::format("{:<13}nowhere that is known\n", "stands at");
    }
    const auto part = [&](std::string_view title, const std::string& body) {
      if (!body.empty()) text_ += "\n" + style_.paint(view::Tone::title, title) + "\n" + body;
    };
    part("Open calls", view::calls_of_scene(what, style_));
    part("Source (* ran just before)", view::source_of_scene(what, style_));
    part("Last lines", view::lines_of_scene(what, style_));
    part("Last instructions", view::instructions_of_scene(what, style_));
    part("Last branches", view::branches_of_scene(what, style_));
  }

  session::Session& session_;
  const Options& options_;
  const ask::FindOptions& how_;
  view::Style style_;
  std::string text_;
  std::size_t shown_ = 0;
};

Result<std::string> in_words(session::Session& session, const Options& options,
                             const std::vector<serve::Ended>& all, const ask::FindOptions& how) {
  Teller teller(session, options, how);
  std::size_t listed = 0;
  for (const serve::Ended& ended : all) {
    if (listed++ == kMostListed) break;
    if (Status status = teller.add(ended); !status) return std::unexpected(status.error());
  }
  return all.empty() ? "no process is known to have ended, and nothing ran\n" : teller.take();
}

Result<std::string> in_json(session::Session& session, const Options& options,
                            const std::vector<serve::Ended>& all, const session::Outcome& outcome,
                            const ask::FindOptions& how) {
  auto json = serve::ends_json(session, all, options.around, how.walk.progress, how.index);
  if (!json) return std::unexpected(json.error());
  (*json)["losses"] = view::losses_json(outcome.losses, session.clock());
  return view::json_text(*json);
}

int run(const Options& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    const Asking asking = asking_of(session, options.reading, progress, true);
    session::Outcome outcome;
    auto lasts = ask::last_moments(session, asking.how.walk, &outcome, asking.how.index);
    if (!lasts) return std::unexpected(lasts.error());
    const auto all = serve::ended_processes(session, *lasts, options.reading.pid);
    auto said = options.reading.json ? in_json(session, options, all, outcome, asking.how)
                                     : in_words(session, options, all, asking.how);
    if (!said) return std::unexpected(said.error());
    progress.clear();
    view::Output out(STDOUT_FILENO);
    out.write(*said);
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome.losses), .tell = !options.reading.json};
  });
}

}  // namespace

void add_crash(Program& program) {
  auto options = std::make_shared<Options>();
  const OptionSet app = program.command("crash", kManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  app.add_option("--around", options->around,
                 "how many of the last lines, instructions and branches to show (default 12)")
      .range(1, 1000)
      .type_name("N");
  add_index_option(app, options->reading);
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
