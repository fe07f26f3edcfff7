// hodo vm ps: who runs in a virtual machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "hodo/capture/vm_survey.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "hodo/view/recorded_processes.h"
#include "hodo/view/vm_survey.h"
#include "reading.h"

namespace hodo::cli {
namespace {

const Manual kVmPsManual{
    .summary = "list the processes of a virtual machine, or of a recording of one",
    .description =
        "Asks a running QEMU, with KVM or without, for its processors' registers and the guest's"
        " memory, and finds in there what the guest's own ps would show, without its help: the"
        " kernel with its address after KASLR, its symbols and types, its task list. Nothing in the"
        " guest is needed or changed; it stands still while the list is read, some hundredths of a"
        " second.\n\n"
        "SOCKET is the path of a QMP socket: start QEMU with -qmp unix:PATH,server=on,wait=off. One"
        " program at a time can use such a socket, so give QEMU one of its own for this where"
        " something else manages it. Whoever runs this must be the user that runs QEMU, or "
        "root.\n\n"
        "A process that was taken out of the task list, as rootkits do, is in none of the guest's"
        " tools, but must have page tables to run. So the list is held against every address space"
        " that was seen on a processor or is in the kernel's list of top-level page tables, whose"
        " pages say whom they belong to, and against the tree of parents and children, which has"
        " kernel threads too. What is missing in the task list is marked HIDDEN.\n\n"
        "Columns: CR3, the physical address of the process's top-level page table, as in the CR3"
        " register and in PIP packets; BUSY, the share of looks at the processors that found it"
        " running. Linux guests are understood whose kernel has kallsyms and BTF, as those of all"
        " distributions have (64-bit, Linux 5.2 and later). Of other guests each address space that"
        " was seen running is listed with its user code pages.\n\n"
        "With FILE in place of a socket: the processes that a recording of hodo vm record or attach"
        " has, with the values of CR3 under which their user code ran (where the kernel isolates"
        " its page tables that of the user half) and the number of their branches. Nobody is looked"
        " for there.",
    .examples = {{"hodo vm ps --qmp /run/guest.qmp", "Who runs in the guest."},
                 {"hodo vm ps --qmp /run/guest.qmp --json | jq '.processes[] | select(.hidden)'",
                  "Who hides there."},
                 {"hodo vm ps --qmp /run/guest.qmp --time 10000",
                  "Looks for ten seconds which processes are busy."},
                 {"hodo vm ps vm.data", "Who was recorded."}},
    .exit_statuses = {
        {"0", "Nobody is hidden."},
        {"1", "A process is hidden from the guest's own task list."},
        {"2", "Wrong use, or a machine or recording that cannot be read."},
        {"3",
         "Hidden processes could not be looked for: the guest's system is not known, or its kernel "
         "does not say whose an address space is. Of a recording: part of it was lost."}}};

struct VmPsOptions {
  std::string socket;
  std::uint64_t milliseconds = 500;
  ReadingOptions reading;
};

int survey_status(const guest::Survey& survey) {
  if (!survey.census || !survey.census->cross_checked) return kExitIncomplete;
  const bool hidden = std::ranges::any_of(survey.census->residents, &guest::Resident::hidden);
  return hidden ? kExitFindings : kExitOk;
}

int list_recorded(const ReadingOptions& options) {
  return with_session(options, [&](session::Session& session) -> Result<Shown> {
    if (session.facts() == nullptr) {
      return fail(ErrorCode::usage, "a raw trace has no processes; give a recording");
    }
    analyze::ProcessSpaces spaces;
    view::Progress progress("reading");
    const auto outcome = session.decode(
        {.progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }},
        spaces);
    progress.clear();
    if (!outcome) return std::unexpected(outcome.error());
    view::Output out(STDOUT_FILENO);
    out.write(options.json
                  ? view::json_text(view::recorded_processes_json(*session.facts(), spaces))
                  : view::recorded_processes_text(*session.facts(), spaces,
                                                  view::style_for(STDOUT_FILENO, options.color)));
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = outcome->losses, .tell = true};
  });
}

int run(const VmPsOptions& options) {
  if (options.socket.empty() == options.reading.file.empty()) {
    fmt::print(
        stderr,
        "hodo: vm ps: give either --qmp SOCKET, a machine that runs, or FILE, a recording\n");
    return kExitUsage;
  }
  if (!options.reading.file.empty()) return list_recorded(options.reading);
  view::Progress progress("looking");
  const auto survey = capture::survey_vm(
      options.socket, std::chrono::milliseconds(options.milliseconds),
      [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); });
  progress.clear();
  if (!survey) {
    fmt::print(stderr, "hodo: vm ps: {}\n", survey.error().message);
    return kExitUsage;
  }
  view::Output out(STDOUT_FILENO);
  out.write(
      options.reading.json
          ? view::json_text(view::survey_json(*survey))
          : view::survey_text(*survey, view::style_for(STDOUT_FILENO, options.reading.color)));
  if (Status status = out.finish(); !status) return report_error("standard output", status.error());
  return survey_status(*survey);
}

}  // namespace

void add_vm_ps(Program& program) {
  auto options = std::make_shared<VmPsOptions>();
  const OptionSet app = program.command("vm-ps", kVmPsManual, [options] { return run(*options); });
  options->reading.file.clear();
  app.add_option("FILE", options->reading.file, "a recording, instead of a machine that runs");
  app.add_option("--qmp", options->socket, "the machine's QMP socket").type_name("SOCKET");
  app.add_option("--time", options->milliseconds, "how long to look who is busy, in milliseconds")
      .type_name("MS")
      .range(0, 3'600'000)
      .capture_default_str();
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
