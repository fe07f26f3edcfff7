// hodo show: one moment of a recording.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "asking.h"
#include "commands.h"
#include "hodo/serve/scenes.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/output.h"
#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

struct ShowOptions {
  ReadingOptions reading;
  serve::SceneInput input;
};

const Manual kShowManual{
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
        "call:FUNCTION#N (its N-th call, as hodo list has them), return:FUNCTION#N (behind its N-th "
        "return; what was inlined has none), line:FILE:LINE#N and at:ADDRESS#N "
        "or at:SYMBOL+OFFSET#N (the N-th time that the path comes there). #1 may be left out; "
        "where several functions have one name, write OBJECT!FUNCTION; of static functions in "
        "one object the whole name, which is listed then, has the source file: 'parse [a.c]'.\n\n"
        "--step walks on from the moment; it may be given several times. insn is one instruction; "
        "line the beginning of another source line, also in a function that is called; over the "
        "same, but not into calls; call the next function that is entered; return what is behind "
        "the next return; out the place behind the end of the innermost open call, and back the "
        "call itself. With a - in front they go back. --next and --previous go to where the thread "
        "executes a function, FILE:LINE or address the next or the last time.\n\n"
        "Of a long recording of Intel PT with a buffer for each thread an index is made at the "
        "first question, and kept in ~/.cache/hodoscope/recordings; from then on only what can have "
        "the answer is decoded, also by the other commands that take moments. It is found by the "
        "recording's content and by the files whose code ran, and is never needed. Source lines of code "
        "that was asked about are kept in ~/.cache/hodoscope/lines, since reading them from debug "
        "information takes longer than the rest.\n\n"
        "A recording that hodo record is still making can be asked, too: all commands answer for "
        "what is in the file when they open it, say on standard error how much that is, and with "
        "--json in `growing`. An index is kept of it once it is complete; until then each command "
        "decodes what is there.",
    .examples = {{"hodo show crash", "Where the program died."},
                 {"hodo show call:parse#17 run.data", "The seventeenth call of parse."},
                 {"hodo show 4242:1700 --step out", "Where it returns to."},
                 {"hodo show crash --previous node.cc:42",
                  "When line 42 ran last before the crash."},
                 {"hodo show line:node.cc:42#2 --json | jq .calls", "For programs."}},
    .exit_statuses = reading_exit_statuses()};

int run(const ShowOptions& options) {
  const Subject subject{"show", "MOMENT", options.input.moment};
  return with_session(options.reading, subject, [&](session::Session& session) -> Result<Shown> {
    view::Progress progress("decoding");
    const Asking asking = asking_of(session, options.reading, progress, true);
    const ask::FindOptions& how = asking.how;
    auto found = serve::scene_of(session, options.input, how);
    if (!found) return std::unexpected(found.error());
    progress.clear();
    view::Output out(STDOUT_FILENO);
    if (options.reading.json) {
      out.write(view::json_text(serve::scene_json(session, *found, options.input.around)));
    } else {
      view::SceneView what(session, found->scene, options.input.around);
      what.others = std::move(found->others);
      out.write(view::scene_text(what, view::style_for(STDOUT_FILENO, options.reading.color)));
      if (!found->unknown.empty()) out.write("\n" + view::printable(found->unknown) + "\n");
    }
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(found->scene.losses), .tell = !options.reading.json};
  });
}

}  // namespace

void add_show(Program& program) {
  auto options = std::make_shared<ShowOptions>();
  const OptionSet app = program.command("show", kShowManual, [options] { return run(*options); });
  app.add_option("MOMENT", options->input.moment,
                 "the moment: 4242:1700, crash, call:parse#17, ...")
      .required();
  add_input_options(app, options->reading);
  app.add_option("--step", options->input.steps,
                 "go on by a step: insn, line, over, call, return or out; back with a - in front, "
                 "as --step=-line; may be given several times")
      .type_name("STEP")
      .one_at_a_time();
  app.add_option("--next", options->input.next,
                 "go to where the thread comes next to this function, FILE:LINE or address")
      .type_name("WHERE");
  app.add_option("--previous", options->input.previous,
                 "go back to where the thread came last to this function, FILE:LINE or address")
      .type_name("WHERE");
  app.add_option("--around", options->input.around,
                 "source lines, instructions and branches on either side (default 8)")
      .range(1, serve::kMostAround)
      .type_name("N");
  add_index_option(app, options->reading);
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
