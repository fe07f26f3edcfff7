// hodo crash: how each process ended.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "asking.h"
#include "commands.h"
#include "hodo/image/core_dump.h"
#include "hodo/serve/ends.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/output.h"
#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

struct CrashOptions {
  ReadingOptions reading;
  std::size_t around = 12;
  std::string core;
};

const Manual kCrashManual{
    .summary = "show how each process ended, and what led up to it",
    .description =
        "Says of each process how it ended. Of those that a signal ended it shows the thread that "
        "took it: the instruction where it happened, which was not executed if it faulted, the "
        "open calls with their source lines, the source lines, instructions and branches that were "
        "executed last. Of a process that was killed from outside, as by SIGKILL, it shows where "
        "each of its threads stood last, as far as the trace goes: of one that ran just then the "
        "last branches are lost. Of a process that exited with another status than 0 it shows the "
        "thread that called for it: exceptions and panics that nobody catches end so in most "
        "languages. Where main returned that status, or where the program itself called exit, is "
        "shown, too, with the lines before. So is where that thread raised an exception, as C++, "
        "Rust, Ada, D and OCaml do it: the last that nobody caught, or of the last eight the one "
        "that was caught outermost.\n\n"
        "Recorders other than hodo do not note how processes end. Of their recordings the ends of "
        "all threads' paths are shown.\n\n"
        "Of a recording that is still being made it shows where each process stands that has not "
        "ended yet; how the others ended is in it once it is complete.\n\n"
        "With --core the core file of one of the processes adds what a trace does not have: the "
        "registers of its threads.\n\n"
        "The first moment that is shown can be given to hodo show, which steps back from there; "
        "`crash` stands for it in every command that takes a moment.",
    .examples = {{"hodo crash", "How the last recording ended."},
                 {"hodo crash --pid 4242 run.data", "One process of many."},
                 {"hodo crash --core core.4242", "With the registers of the core file."},
                 {"hodo show crash --step=-line", "One line back."},
                 {"hodo crash --json | jq '.processes[].threads[0].calls'", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

constexpr std::size_t kMostProcesses = 100;  // listed

// What the core file says of a thread of a process; null: nothing.
const image::CoreThread* thread_of(const std::optional<image::CoreDump>& core, std::int32_t pid,
                                   std::int32_t tid) {
  if (!core || core->pid != pid) return nullptr;
  const auto found = std::ranges::find(core->threads, tid, &image::CoreThread::tid);
  return found == core->threads.end() ? nullptr : &*found;
}

// Four to a line.
std::string registers_text(const image::CoreThread& thread, const ask::Scene& scene,
                           const view::Style& style) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < thread.registers.size(); ++i) {
    out += style.paint(view::Tone::dim, fmt::format("  {:>8} ", image::kCoreRegisters[i])) +
           fmt::format("{:016x}", thread.registers[i]);
    if (++column % 4 == 0 || i + 1 == thread.registers.size()) out += "\n";
  }
  if (image::rip_of(thread) != scene.address) {
    out += fmt::format("  these are of {:x}, where the core file was written\n",
                       image::rip_of(thread));
  }
  return out;
}

void add_registers(nlohmann::ordered_json& json, const std::optional<image::CoreDump>& core) {
  for (auto& process : json["processes"]) {
    for (auto& thread : process["threads"]) {
      const image::CoreThread* const known =
          thread_of(core, process["pid"].get<std::int32_t>(), thread.value("tid", -1));
      if (known == nullptr) continue;
      for (std::size_t i = 0; i < known->registers.size(); ++i) {
        thread["registers"][image::kCoreRegisters[i]] = fmt::format("{:#x}", known->registers[i]);
      }
    }
  }
}

// The core file, if one was given; it must be of a process of the recording that ended so.
Result<std::optional<image::CoreDump>> core_of(const CrashOptions& options,
                                               std::span<const serve::Ended> all) {
  if (options.core.empty()) return std::nullopt;
  auto core = image::read_core_dump(options.core);
  if (!core) return std::unexpected(core.error());
  const auto ended =
      std::ranges::find(all, core->pid, [](const serve::Ended& e) { return e.end.pid; });
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorCode::not_found, fmt::format("{}: {}", options.core, why));
  };
  if (ended == all.end()) {
    return wrong(fmt::format("is of process {}, whose end is not in the recording", core->pid));
  }
  if (ended->known && ended->end.signal != core->signal) {
    return wrong(fmt::format("is of a process {} that signal {} ended; in the recording it was {}",
                             core->pid, core->signal, serve::end_words(*ended)));
  }
  return std::move(*core);
}

// Puts it into words.
class Teller {
 public:
  Teller(session::Session& session, const CrashOptions& options,
         const std::optional<image::CoreDump>& core, const ask::FindOptions& how)
      : session_(session),
        options_(options),
        core_(core),
        how_(how),
        style_(view::style_for(STDOUT_FILENO, options.reading.color)) {}

  Status add(const serve::Ended& ended) {
    begin(ended);
    Result<std::optional<ask::Scene>> exception{std::nullopt};
    if (shown_ + ended.threads.size() <= serve::kMostLastScenes) {
      exception = serve::last_exception(session_, ended, how_.walk.progress, how_.index);
    }
    if (!exception) return std::unexpected(exception.error());
    if (*exception) {
      text_ += fmt::format("its last exception was raised at {}; see below\n",
                           ask::to_string((*exception)->moment));
    }
    std::optional<serve::Exit> exit;
    for (const ask::LastMoment& last : ended.threads) {
      if (shown_++ == serve::kMostLastScenes) {
        text_ += "\nmore threads are left out; --pid and --tid choose\n";
        break;
      }
      auto scene = serve::last_scene(session_, last.moment, how_.walk.progress, how_.index);
      if (!scene) return std::unexpected(scene.error());
      auto asked = serve::exit_asked_for(session_, ended, *scene, how_.walk.progress, how_.index);
      if (!asked) return std::unexpected(asked.error());
      if (*asked) {
        exit = std::move(*asked);
        text_ +=
            fmt::format("{} at {}; see below\n", words(*exit), ask::to_string(exit->scene.moment));
      }
      view::SceneView what(session_, *scene, options_.around);
      add_text(what);
    }
    if (exit) add_exit(*exit);
    if (*exception) add_exception(**exception);
    return {};
  }

  std::string take() {
    if (shown_ == 0 && !text_.empty()) {
      text_ +=
          style_.paint(view::Tone::dim,
                       "no process died of a signal or exited with another status than 0; hodo "
                       "show end: what ran last") +
          "\n";
    }
    return std::move(text_);
  }

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

  static std::string words(const serve::Exit& exit) {
    return exit.main_returned ? "main returned"
                              : fmt::format("{} was called", view::printable(exit.function));
  }

  void add_exit(const serve::Exit& exit) {
    view::SceneView what(session_, exit.scene, options_.around);
    add_part(fmt::format("Where {}, at {}", words(exit), ask::to_string(exit.scene.moment)),
             view::calls_of_scene(what, style_));
    add_part("Source before that (* ran)", view::source_of_scene(what, style_));
    add_part("Last lines before that", view::lines_of_scene(what, style_));
  }

  void add_exception(const ask::Scene& scene) {
    view::SceneView what(session_, scene, options_.around);
    add_part(fmt::format("Exception that it raised, at {}", ask::to_string(scene.moment)),
             view::calls_of_scene(what, style_));
  }

  void add_part(std::string_view title, const std::string& body) {
    if (!body.empty()) text_ += "\n" + style_.paint(view::Tone::title, title) + "\n" + body;
  }

  void add_text(view::SceneView& what) {
    const ask::Scene& scene = what.scene;
    text_ += fmt::format("\n{:<13}{}\n", "moment", ask::to_string(scene.moment));
    if (scene.address != 0) {
      const auto place = session_.names().place(scene.who.space, scene.address, scene.time);
      text_ += fmt::format("{:<13}{}\n", "stands at", view::describe(scene.address, place, style_));
      text_ += fmt::format(
          "{:<13}{}\n", "instruction",
          view::printable(what.code.disassemble(scene.who.space, scene.address, scene.time)));
      if (scene.goes_round) text_ += fmt::format("{:<13}{}\n", "how often", view::kGoesRound);
    } else {
      text_ += fmt::format("{:<13}{}\n", "stands at", view::nowhere_text(scene));
    }
    if (!scene.after.empty() && scene.after.front().branch.kind == BranchKind::lost) {
      text_ += fmt::format("{:<13}what it did from here to its end\n", "lost");
    }
    if (const auto* thread = thread_of(core_, scene.who.pid, scene.who.tid)) {
      add_part("Registers", registers_text(*thread, scene, style_));
    }
    add_part("Open calls", view::calls_of_scene(what, style_));
    add_part("Source (* ran just before)", view::source_of_scene(what, style_));
    add_part("Last lines", view::lines_of_scene(what, style_));
    add_part("Last instructions", view::instructions_of_scene(what, style_));
    add_part("Last branches", view::branches_of_scene(what, style_));
  }

  session::Session& session_;
  const CrashOptions& options_;
  const std::optional<image::CoreDump>& core_;
  const ask::FindOptions& how_;
  view::Style style_;
  std::string text_;
  std::size_t shown_ = 0;
};

Result<std::string> in_words(session::Session& session, const CrashOptions& options,
                             const std::vector<serve::Ended>& all,
                             const std::optional<image::CoreDump>& core,
                             const ask::FindOptions& how) {
  Teller teller(session, options, core, how);
  std::size_t listed = 0;
  for (const serve::Ended& ended : all) {
    if (listed++ == kMostProcesses) break;
    if (Status status = teller.add(ended); !status) return std::unexpected(status.error());
  }
  return all.empty() ? "no process is known to have ended, and nothing ran\n" : teller.take();
}

Result<std::string> in_json(session::Session& session, const CrashOptions& options,
                            const std::vector<serve::Ended>& all,
                            const std::optional<image::CoreDump>& core,
                            const session::Outcome& outcome, const ask::FindOptions& how) {
  auto json = serve::ends_json(session, all, options.around, how.walk.progress, how.index);
  if (!json) return std::unexpected(json.error());
  add_registers(*json, core);
  (*json)["losses"] = view::losses_json(outcome.losses, session.clock());
  view::add_growing(*json, session);
  return view::json_text(*json);
}

int run(const CrashOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    const Asking asking = asking_of(session, options.reading, progress, true);
    session::Outcome outcome;
    auto lasts = ask::last_moments(session, asking.how.walk, &outcome, asking.how.index);
    if (!lasts) return std::unexpected(lasts.error());
    const auto all = serve::ended_processes(session, *lasts, options.reading.pid);
    auto core = core_of(options, all);
    if (!core) return std::unexpected(core.error());
    auto said = options.reading.json ? in_json(session, options, all, *core, outcome, asking.how)
                                     : in_words(session, options, all, *core, asking.how);
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
  auto options = std::make_shared<CrashOptions>();
  const OptionSet app = program.command("crash", kCrashManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  app.add_option("--around", options->around,
                 "how many of the last lines, instructions and branches to show (default 12)")
      .range(1, serve::kMostOfEnds)
      .type_name("N");
  app.add_option("--core", options->core,
                 "the core file of a process of the recording, for the registers of its threads")
      .type_name("FILE");
  add_index_option(app, options->reading);
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
