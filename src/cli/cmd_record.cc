#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "commands.h"
#include "hodo/capture/record.h"
#include "reading.h"
#include "record_options.h"
#include "record_report.h"
#include "record_status.h"

namespace hodo::cli {
namespace {

constexpr std::string_view kRecordDescription =
    "Runs COMMAND, the words behind '--', and writes down every branch that it takes, in all its "
    "threads and in the programs that it starts. On a processor with Intel PT the kernel records; "
    "on any other x86-64 machine a software trace unit writes the same packets: of 64-bit programs "
    "in their own processes, by an engine that runs copies of their code, of others under QEMU. "
    "Where neither can be the program is stepped, which is slow: see hodo doctor.\n\n"
    "The program keeps its standard streams, terminal, directory, environment and exit status. "
    "The recording is a perf.data file: hodo's own commands read it, and so does perf (for "
    "example perf script --itrace=b). An existing file is kept as FILE.old.\n\n"
    "Ctrl-C ends the recording, not the data; a second one also ends the program. SIGTERM, and "
    "SIGINT from a process, are passed on; a program that has not ended after ten seconds, or at "
    "the next signal, gets SIGTERM, and then SIGKILL. What could not be recorded is said at the end"
    " and counts in the exit status of the commands that read the file.\n\n"
    "With -p processes that run already are recorded instead, with all of their threads: by the "
    "processor, or by the engine, which takes them over where they stand and lets go of them at the "
    "end (--duration, Ctrl-C, --max-size). That needs the rights of a debugger: see docs/attach.md.\n\n"
    "Besides Intel PT there are the older mechanisms: --source bts writes every taken branch as a "
    "record of 24 bytes, --source lbr a stack of the last branches every --period branches, as "
    "sampling profilers use it. Both take the processor's own where the kernel offers it, else the "
    "trace unit's. --source step needs neither processor nor QEMU, and is slow.\n\n"
    "With --check every branch is judged while the program runs, as hodo check does: what is found"
    " is on standard error within a second, and --on-finding stop kills the program then; neither for"
    " what --suppress FILE has a line for. Traces of"
    " other sources than the trace unit's Intel PT are judged when the program has ended.\n\n"
    "A filter keeps the trace to some code: SYMBOL@FILE (a function), @FILE (all of a file), "
    "OFFSET/SIZE@FILE (bytes of a file) or START-END (addresses); up to four of them.";

int record(const RecordCommand& command) {
  if (command.options.command.empty() && command.pids.empty()) {
    fmt::print(stderr, "hodo: record: no command given; write for example: hodo record -- ls -l\n");
    return kExitUsage;
  }
  // CLI11 takes the first word that it does not know for the command.
  if (!command.options.command.empty() && command.options.command.front().starts_with('-')) {
    fmt::print(stderr, "hodo: record: no such option: {}; see 'hodo record --help'\n",
               command.options.command.front());
    return kExitUsage;
  }
  auto options = options_of(command);
  if (!options) {
    fmt::print(stderr, "hodo: {}\n", options.error().message);
    return kExitUsage;
  }
  const auto suppressions = command.suppress.empty() ? check::Suppressions()
                                                     : check::Suppressions::load(command.suppress);
  if (!suppressions) return report_error(command.suppress, suppressions.error());
  std::unique_ptr<LiveCheck> check;
  if (command.check) {
    auto started = LiveCheck::start(options->output, command.on_finding, *suppressions);
    if (!started) {
      fmt::print(stderr, "hodo: {}\n", started.error().message);
      return kExitCannotRecord;
    }
    check = std::move(*started);
    options->end_fd = check->end_fd();
  }
  options->notice = [](std::string_view line) { fmt::print(stderr, "hodo: {}\n", line); };
  const auto result = capture::record(*options, command.own_command_line);
  if (!result) {
    fmt::print(stderr, "hodo: {}\n", result.error().message);
    return exit_status_of(result.error());
  }
  print_outcome(command, *options, *result);
  const int verdict = check ? check->finish() : kExitOk;
  if (verdict == kExitFindings) return kExitFindings;
  if (!result->complete && result->exit_status == 0) return kExitCannotRecord;
  return result->exit_status != 0 ? result->exit_status : verdict;
}

}  // namespace

void add_record(Program& program) {
  auto command = std::make_shared<RecordCommand>();
  Manual manual{
      .summary = "run a program and record every branch it takes",
      .description = kRecordDescription,
      .examples =
          {{"hodo record -- ls -l /usr/bin", "Records ls into hodo.data and shows the report."},
           {"hodo record -o build.data -- make -j2", "Records make and everything it starts."},
           {"hodo record --filter main@./prog -- ./prog",
            "Records only what runs inside the function main of ./prog."},
           {"hodo record --max-size 200M -q -- ./server",
            "Stops recording, not the server, when the file has 200 MiB."},
           {"hodo record -p 4711 --duration 10", "Ten seconds of a process that runs already."},
           {"hodo record --check --on-finding stop -- ./server",
            "Judges every branch, and kills the server at the first that is not allowed."},
           {"hodo record --source lbr --period 1000 -- ./prog",
            "A stack of the last 32 branches after every 1000, which perf2bolt takes, too."}},
      .exit_statuses = {
          {"0-255", "The program's own; 128 + N if signal N killed it."},
          {"1", "With --check: something was found, whatever the program's own status."},
          {"2", "Wrong usage."},
          {"3", "With --check: nothing was found, but not everything could be checked."},
          {"125",
           "The recording could not be made, or is not whole although the program succeeded."},
          {"126", "The program was found but could not be run or recorded."},
          {"127", "No such program."}}};
  auto action = [command, &program] {
    command->options.command = program.remaining("record");
    return record(*command);
  };
  add_record_options(program.command("record", std::move(manual), std::move(action)), *command);
}

}  // namespace hodo::cli
