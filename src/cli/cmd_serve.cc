// hodo serve: answers questions about a recording.
#include <unistd.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "hodo/serve/lines.h"
#include "hodo/serve/rpc.h"
#include "hodo/serve/socket.h"
#include "hodo/serve/workspace.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "reading.h"
#include "version.h"

namespace hodo::cli {
namespace {

struct ServeOptions {
  ReadingOptions reading;
  std::string socket;
  bool schema = false;
  bool mcp = false;
  bool no_index = false;
};

const Manual kServeManual{
    .summary = "answer questions about a recording, for other programs",
    .description =
        "Opens a recording once and answers questions about it until standard input ends, so that "
        "an editor, a viewer or a script need not start a command and decode anew for each. Speaks "
        "JSON-RPC 2.0, one message on each line of standard input, one answer on each line of "
        "standard output; batches and notifications as that says.\n\n"
        "What can be asked is what the commands answer, with the same JSON: a moment (scene), calls "
        "of a function, code with counts, findings, coverage, how processes ended and more. "
        "--schema prints all methods with JSON Schemas of their parameters and answers. While a long "
        "question is answered, notifications 'progress' tell how far it has come.\n\n"
        "--socket PATH makes a Unix socket for any number of questions, at most 16 at a time, each on a "
        "connection of its own: nobody but you can connect, and Ctrl-C removes it.\n\n"
        "--mcp speaks the Model Context Protocol on standard input and output: ten tools with "
        "bounded answers, for language models and the editors that they work in.\n\n"
        "Nothing is sent anywhere else, and no file is opened but the recording and those that it "
        "names.",
    .examples = {{"echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"info\"}' | hodo serve run.data",
                  "One question."},
                 {"hodo serve --socket /tmp/run.sock run.data", "For several programs at once."},
                 {"claude mcp add hodo -- hodo serve --mcp $PWD/run.data",
                  "As tools of an assistant; others take the same command in their settings."},
                 {"hodo serve --schema | jq -r '.methods[].name'", "What can be asked."}},
    .exit_statuses = {{"0", "Standard input ended, or a signal came (--socket)."},
                      {"2", "Wrong use, or a recording that cannot be read."}}};

Status print_schema() {
  view::Output out(STDOUT_FILENO);
  out.write(view::json_text(serve::all_methods()));
  return out.finish();
}

int run(const ServeOptions& options) {
  if (options.schema) {
    const Status done = print_schema();
    return done ? kExitOk : report_error("", done.error());
  }
  if (options.mcp && !options.socket.empty()) {
    return report_error(
        "", {ErrorCode::usage, "--mcp speaks on standard input; it goes without --socket"});
  }
  auto input = input_of(options.reading);
  if (!input) return report_error(options.reading.file, input.error());
  auto workspace = serve::Workspace::open({.input = *input,
                                           .version = std::string(version()),
                                           .index = !options.no_index,
                                           .any_other = true});
  if (!workspace) return report_error(options.reading.file, workspace.error());
  // That somebody has gone shows where something is written to them.
  ::signal(SIGPIPE, SIG_IGN);
  const Status done =
      options.socket.empty()
          ? serve::answer_lines(**workspace, STDIN_FILENO, STDOUT_FILENO,
                                options.mcp ? serve::Speech::mcp : serve::Speech::rpc)
          : serve::answer_socket(**workspace, options.socket);
  return done ? kExitOk : report_error("", done.error());
}

}  // namespace

void add_serve(Program& program) {
  auto options = std::make_shared<ServeOptions>();
  const OptionSet app = program.command("serve", kServeManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  app.add_option("--socket", options->socket,
                 "make the Unix socket PATH and answer there, instead of on standard input")
      .type_name("PATH");
  app.add_flag("--mcp", options->mcp, "speak the Model Context Protocol");
  app.add_flag("--schema", options->schema,
               "print the methods with their parameters and answers, and exit");
  app.add_flag("--no-index", options->no_index,
               "neither use nor make an index of the recording (default: of a long one)");
}

}  // namespace hodo::cli
