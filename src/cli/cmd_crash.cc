// hodo crash: how each process ended.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
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

constexpr std::size_t kTail = 1024;       // branches before the end that are read
constexpr std::size_t kMostShown = 16;    // threads
constexpr std::size_t kMostListed = 100;  // processes

// A process with the threads that are looked at.
struct Ended {
  session::ProcessEnd end;
  bool known = true;  // how it ended
  std::vector<ask::LastMoment> threads;
};

bool wanted(const Options& options, const session::ProcessEnd& end) {
  return options.reading.pid < 0 || options.reading.pid == end.pid;
}

// The crashes first.
std::vector<Ended> processes(const Options& options, const session::Session& session,
                             const std::vector<ask::LastMoment>& lasts) {
  std::vector<Ended> out;
  for (const session::ProcessEnd& end : serve::ends_of(session)) {
    if (wanted(options, end)) out.push_back({.end = end});
  }
  if (out.empty()) {
    for (const ask::LastMoment& last : lasts) {
      auto it = std::ranges::find(out, last.who.pid, [](const Ended& e) { return e.end.pid; });
      if (it == out.end()) {
        it = out.insert(out.end(), {.end = {.pid = last.who.pid}, .known = false});
      }
    }
  }
  for (Ended& ended : out) {
    if (ended.known && ended.end.exit_status >= 0) continue;
    for (const ask::LastMoment& last : lasts) {
      const bool took = ended.end.tid == 0 || ended.end.tid == last.who.tid;
      if (last.who.pid == ended.end.pid && took) ended.threads.push_back(last);
    }
  }
  const auto rank = [](const Ended& e) {
    return ask::is_crash(e.end) ? 0 : e.threads.empty() ? 2 : 1;
  };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

std::string words(const Ended& ended) {
  return ended.known ? view::end_words(ended.end) : "how it ended is not in the recording";
}

class Teller {
 public:
  Teller(session::Session& session, const Options& options, const session::ProgressFunction& tell)
      : session_(session),
        options_(options),
        tell_(tell),
        style_(view::style_for(STDOUT_FILENO, options.reading.color)) {}

  Status add(const Ended& ended) {
    begin(ended);
    for (const ask::LastMoment& last : ended.threads) {
      if (shown_++ == kMostShown) {
        text_ += "\nmore threads are left out; --pid and --tid choose\n";
        break;
      }
      auto scene = ask::scene_at(session_, last.moment,
                                 {.before = kTail, .after = 2, .reach = 2, .progress = tell_});
      if (!scene) return std::unexpected(scene.error());
      view::SceneView what(session_, *scene, options_.around);
      options_.reading.json ? add_json(what) : add_text(what);
    }
    return {};
  }

  std::string take(const std::vector<session::LossLine>& losses) {
    if (!options_.reading.json) return std::move(text_);
    json_["losses"] = view::losses_json(losses, session_.clock());
    return view::json_text(json_);
  }

 private:
  void begin(const Ended& ended) {
    const session::ProcessEnd& end = ended.end;
    if (options_.reading.json) {
      nlohmann::ordered_json process{{"pid", end.pid}, {"comm", end.comm}};
      if (end.exit_status >= 0) process["exit_status"] = end.exit_status;
      if (end.signal != 0) process["signal"] = end.signal;
      if (end.tid != 0) process["tid"] = end.tid;
      process["ended"] = words(ended);
      process["threads"] = nlohmann::ordered_json::array();
      json_["processes"].push_back(std::move(process));
      return;
    }
    if (!text_.empty() && !ended.threads.empty()) text_ += "\n";
    const std::string name =
        end.pid < 0
            ? "the trace"
            : fmt::format("{}{}", end.comm.empty() ? "process " : view::printable(end.comm) + " ",
                          end.pid);
    const auto tone = ask::is_crash(end) ? view::Tone::bad : view::Tone::plain;
    text_ += style_.paint(tone, fmt::format("{}: {}", name, words(ended))) + "\n";
  }

  void add_json(view::SceneView& what) {
    json_["processes"].back()["threads"].push_back(view::scene_json(what));
  }

  void add_text(view::SceneView& what) {
    const ask::Scene& scene = what.scene;
    text_ += fmt::format("\n{:<13}{}\n", "moment", text(scene.moment));
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
  const session::ProgressFunction& tell_;
  view::Style style_;
  std::string text_;
  nlohmann::ordered_json json_{{"processes", nlohmann::ordered_json::array()}};
  std::size_t shown_ = 0;
};

int run(const Options& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    const auto tell = told_to(progress);
    session::Outcome outcome;
    auto lasts = ask::last_moments(
        session, {.selection = selection_of(options.reading), .progress = tell}, &outcome);
    if (!lasts) return std::unexpected(lasts.error());
    const std::vector<Ended> all = processes(options, session, *lasts);
    Teller teller(session, options, tell);
    std::size_t listed = 0;
    for (const Ended& ended : all) {
      if (listed++ == kMostListed && !options.reading.json) break;
      if (Status status = teller.add(ended); !status) return std::unexpected(status.error());
    }
    progress.clear();
    view::Output out(STDOUT_FILENO);
    out.write(teller.take(outcome.losses));
    if (all.empty()) out.write("no process is known to have ended, and nothing ran\n");
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
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
