// hodo view: look at a recording in the browser.
#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait is POSIX's
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "browser.h"
#include "commands.h"
#include "hodo/serve/rpc.h"
#include "hodo/serve/workspace.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "hodo/web/host.h"
#include "output_file.h"
#include "reading.h"
#include "version.h"
#include "view_file.h"

namespace hodo::cli {
namespace {

struct ViewOptions {
  ReadingOptions reading;
  std::uint64_t port = 0;
  bool no_browser = false;
  bool no_index = false;
  std::string at;
  std::string from, to;
  std::vector<std::string> with;  // --diff: the other recording, or both
  std::string html;
};

const Manual kViewManual{
    .summary = "look at a recording in the browser",
    .description =
        "Serves a page about the recording to this user's browser, opens it where there is a "
        "display, prints its address and runs until Ctrl-C. The page has the timeline of all "
        "threads from the whole recording down to single calls, flame graphs of what is selected, "
        "the call tree, source and instructions with counts, the scene at a moment with steps back "
        "and forward, every call of a function, findings, report, coverage, processes, differences "
        "and notes. Press ? there for its keys. What it shows is what the other commands say.\n\n"
        "The address has a key that is made anew for each run; without it there is nothing to be "
        "had, for other users of the machine or for other pages in the browser. hodo listens on "
        "127.0.0.1 only, and the page loads nothing from elsewhere.\n\n"
        "--html writes the page as one file instead, with the report, the timeline to some depth, "
        "flame graphs, the upper call tree, findings, coverage and the code of the hottest "
        "functions, for who has neither hodo nor the recording. With --from and --to timeline, flame "
        "graphs, call tree and code are of that part, and go deeper; with --diff it has where the two "
        "recordings part, too. The file says what it does not contain.",
    .examples = {{"hodo view", "Look at hodo.data."},
                 {"hodo view run.data --at crash", "Begin where the program died."},
                 {"hodo view --diff good.data bad.data", "Where the two runs part."},
                 {"hodo view run.data --html run.html", "A file to send."},
                 {"hodo view run.data --html slow.html --from call:handle#17 --to return:handle#17",
                  "One call of it, to send."},
                 {"ssh -L 4242:127.0.0.1:4242 host hodo view --port 4242 --no-browser",
                  "From another machine."}},
    .exit_statuses = {{"0", "Ended by Ctrl-C, or the file is written."},
                      {"2", "Wrong use, or a recording that cannot be read."},
                      {"3", "The file is written, but a part of the recording was lost."}}};

// Tells on a terminal how far the question that is being answered has come.
class Told {
 public:
  void hear(const serve::Progress& progress) {
    const std::scoped_lock lock(mutex_);
    if (!line_ || what_ != progress.what) {
      line_.reset();  // erases what it has drawn
      what_ = progress.what;
      line_ = std::make_unique<view::Progress>(what_);
    }
    line_->update(progress.done, progress.total);
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    line_.reset();
  }

 private:
  std::mutex mutex_;
  std::string what_;
  std::unique_ptr<view::Progress> line_;
};

std::optional<std::string> answer(serve::Workspace& workspace, Told& told, std::string_view message,
                                  const std::function<bool()>& gone) {
  if (serve::is_beside(message)) return serve::answer_message(workspace, message);
  const serve::Asker asker{
      .hear = [&told](const serve::Progress& progress) { told.hear(progress); },
      .gave_up = [&gone](const serve::Json&) { return gone(); },
      .person = true};
  auto out = serve::answer_message(workspace, message, asker);
  told.clear();
  return out;
}

// The part of the timeline that --from and --to mean; an empty object where neither is given.
Result<serve::Json> part_of(const ViewOptions& options, serve::Workspace& workspace) {
  serve::Json params = serve::Json::object();
  if (!options.from.empty()) params["from"] = options.from;
  if (!options.to.empty()) params["to"] = options.to;
  if (params.empty()) return params;
  return serve::ask(workspace, "part", params);
}

std::string begin_of(const ViewOptions& options, const serve::Json& part) {
  std::vector<std::string> words;
  const char* view = !options.with.empty() ? "diff" : !options.at.empty() ? "where" : "flame";
  if (!options.at.empty()) words.push_back("at=" + in_address(options.at));
  if (!options.with.empty()) words.push_back("other=" + in_address(options.with.back()));
  if (!part.empty()) {
    const std::string range =
        fmt::format("{}-{}", part["from"].get<std::uint64_t>(), part["to"].get<std::uint64_t>());
    words.push_back("axis=" + part["axis"].get<std::string>());
    if (part.contains("thread")) words.push_back("thread=" + part["thread"].get<std::string>());
    words.push_back("range=" + range);
    words.push_back("window=" + range);
  }
  if (words.empty()) return "";
  return fmt::format("#view={}&{}", view, fmt::join(words, "&"));
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// The threads that are made from here on leave them to wait_for_the_end().
void keep_signals() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// Until Ctrl-C. Whoever is still being answered then is not waited for: there is nothing to save.
void wait_for_the_end() {
  const sigset_t set = ending_signals();
  int signal = 0;
  sigwait(&set, &signal);
}

// While the browser starts, hodo reads what every page asks for first. What goes wrong the page
// hears, which asks again.
void read_ahead(serve::Workspace& workspace, Told& told) {
  std::thread([&workspace, &told] {
    (void)answer(workspace, told, R"({"jsonrpc":"2.0","id":0,"method":"info"})",
                 [] { return false; });
  }).detach();  // it ends with the program
}

int serve_page(const ViewOptions& options, const web::Page& page, serve::Workspace& workspace,
               Told& told) {
  auto part = part_of(options, workspace);
  if (!part) return report_error(options.reading.file, part.error());
  keep_signals();
  auto host = web::Host::start(
      page,
      [&](std::string_view message, const std::function<bool()>& gone) {
        return answer(workspace, told, message, gone);
      },
      static_cast<std::uint16_t>(options.port));
  if (!host) return report_error("", host.error());
  const std::string address = (*host)->address() + begin_of(options, *part);
  view::Output out(STDOUT_FILENO);
  out.write(address + "\n");
  if (Status status = out.finish(); !status) return report_error("", status.error());
  read_ahead(workspace, told);
  Opened opened;
  if (!options.no_browser) opened = open_in_browser(address);
  if (!opened.remark.empty()) fmt::print(stderr, "hodo: {}\n", opened.remark);
  fmt::print(stderr, "hodo: the page is at the address above until Ctrl-C\n");
  wait_for_the_end();
  opened.file.reset();
  std::_Exit(kExitOk);
}

// The recording, and the one that it is compared with: says what was lost of them.
Result<bool> are_whole(const ViewOptions& options, serve::Workspace& workspace) {
  auto losses = workspace.losses();
  if (!losses) return std::unexpected(losses.error());
  tell_losses(options.reading.file, *losses);
  if (options.with.empty()) return losses->empty();
  auto other = workspace.other(options.with.back());
  if (!other) return std::unexpected(other.error());
  auto others = (*other)->losses();
  if (!others) return std::unexpected(others.error());
  tell_losses(options.with.back(), *others);
  return losses->empty() && others->empty();
}

int write_page(const ViewOptions& options, const web::Page& page, serve::Workspace& workspace) {
  auto part = part_of(options, workspace);
  if (!part) return report_error(options.reading.file, part.error());
  auto answers = answers_for_file(workspace, *part, begin_of(options, *part),
                                  options.with.empty() ? "" : options.with.back());
  if (!answers) return report_error(options.reading.file, answers.error());
  const auto content = web::standalone(page, *answers);
  if (!content) return report_error("", content.error());
  std::vector<std::string> inputs = options.with;
  inputs.push_back(options.reading.file);
  auto file = OutputFile::open(options.html, inputs);
  if (!file) return report_error("", file.error());
  view::Output out(file->fd());
  out.write(*content);
  Status done = out.finish();
  if (done) done = file->keep();
  if (!done) return report_error("", done.error());
  const auto whole = are_whole(options, workspace);
  if (!whole) return report_error(options.reading.file, whole.error());
  return *whole ? kExitOk : kExitIncomplete;
}

// As `hodo diff A B`: the recording, then the other one, wherever --diff stands among them.
Status name_both(ViewOptions& options) {
  std::string& file = options.reading.file;
  if (options.with.size() < 2) {
    if (file.empty()) file = ReadingOptions().file;
    return {};
  }
  if (options.with.size() > 2 || !file.empty()) {
    return fail(ErrorCode::usage,
                "--diff compares two recordings: hodo view A --diff B, or hodo view --diff A B");
  }
  file = options.with.front();
  return {};
}

int run(ViewOptions options) {
  if (Status good = name_both(options); !good) return report_error("", good.error());
  const auto page = web::page();
  if (!page) return report_error("", page.error());
  auto input = input_of(options.reading);
  if (!input) return report_error(options.reading.file, input.error());
  serve::OpenOptions how{
      .input = *input, .version = std::string(version()), .index = !options.no_index};
  if (!options.with.empty()) how.others.push_back(options.with.back());
  auto workspace = serve::Workspace::open(how);
  if (!workspace) return report_error(options.reading.file, workspace.error());
  Told told;
  (*workspace)->name_question("start", {.hear = [&told](const serve::Progress& p) {
                                told.hear(p);
                              }});
  if (!options.html.empty()) {
    const int status = write_page(options, *page, **workspace);
    told.clear();
    return status;
  }
  return serve_page(options, *page, **workspace, told);
}

}  // namespace

void add_view(Program& program) {
  auto options = std::make_shared<ViewOptions>();
  options->reading.file.clear();  // what is given can be told from the default then
  const OptionSet app = program.command("view", kViewManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  app.add_option(
         "--at", options->at,
         "begin at this moment: 4242:1700, crash, call:parse#17, ... (default: an overview)")
      .type_name("MOMENT");
  app.add_option("--from", options->from,
                 "select what ran from this moment on; of its thread, if it is no time")
      .type_name("MOMENT");
  app.add_option("--to", options->to, "select what ran until this moment").type_name("MOMENT");
  app.add_option("--diff", options->with,
                 "begin with the differences of this recording to FILE; of two, to each other")
      .type_name("OTHER");
  app.add_option("--html", options->html, "write the page to this file, and serve nothing")
      .type_name("OUT");
  app.add_option("--port", options->port, "listen on this port (default: any that is free)")
      .range(0, 65535)
      .type_name("N");
  app.add_flag("--no-browser", options->no_browser, "open no browser, only print the address");
  app.add_flag("--no-index", options->no_index,
               "neither use nor make an index of the recording (default: of a long one)");
}

}  // namespace hodo::cli
