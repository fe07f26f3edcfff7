// hodo vm demo: a virtual machine to try the others with.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "commands.h"
#include "demo_guest.h"
#include "hodo/capture/vm_source.h"
#include "hodo/view/shell.h"
#include "hodo/view/text.h"
#include "record_options.h"
#include "record_status.h"
#include "version.h"

namespace hodo::cli {
namespace {

constexpr std::string_view kScript =
    "echo 'guest: sorting, packing and summing numbers'\n"
    "seq 1 400 | sort -r > /tmp/numbers\n"
    "gzip /tmp/numbers\n"
    "sha256sum /tmp/numbers.gz\n";
constexpr const char* kPrograms[] = {"sort", "gzip", "sha256sum"};

const Manual kVmDemoManual{
    .summary = "record a small virtual machine that is made for it",
    .description =
        "For who has no virtual machine at hand. Makes a Linux guest of two files, a Debian kernel "
        "and busybox, in a folder of the cache, starts it with 'hodo vm record', and says what can "
        "be done with the recording. Needs no root, and from Debian the packages qemu-system-x86 "
        "and busybox-static.\n\n"
        "The kernel is one of Debian's in /boot that can be read; else that of the package "
        "linux-image-amd64, which apt-get fetches, some 70 MB, once; else the one that --kernel "
        "names. In the guest three programs run, each a process: sort, gzip and sha256sum. They "
        "are recorded in user mode and in the kernel. Then the guest goes off. It takes about a "
        "minute.",
    .examples = {{"hodo vm demo", "Makes the guest and records it into vm-demo.data."}},
    .exit_statuses = {{"0", "Recorded."},
                      {"2", "Wrong usage."},
                      {"125", "The recording could not be made, or is not whole."},
                      {"127",
                       "Something that is needed is not installed; the message names the "
                       "package."}}};

struct VmDemoOptions {
  std::string output = "vm-demo.data";
  std::string folder;
  std::string kernel;
};

void tell_what_next(const VmDemoOptions& options, const DemoGuest& guest) {
  const std::string file = view::shell_word(options.output);
  const std::string socket = view::shell_word(options.folder + "/qmp");
  std::string machine;
  for (const std::string& word : demo_machine(guest, " stay"))
    machine += view::shell_word(word) + " ";
  fmt::print(
      "\nWhat to do next:\n"
      "  hodo report {0}               what the three programs did\n"
      "  hodo calls {0}                who called whom\n"
      "  hodo check {0} --symfs /      were they allowed to? (busybox is this machine's)\n"
      "  hodo vm ps {0}                who was recorded\n"
      "  hodo vm check {0} --kernel {1}\n"
      "                                has somebody hooked the kernel?\n\n"
      "And with a guest that runs: start it, wait for 'guest: ready', and ask from another "
      "terminal.\n"
      "  {2}-qmp unix:{3},server=on,wait=off\n"
      "  hodo vm ps --qmp {3}\n",
      file, view::shell_word(guest.kernel), machine, socket);
}

int report(const Error& error) {
  fmt::print(stderr, "hodo: vm demo: {}\n", view::printable(error.message));
  return exit_status_of(error);
}

int run(VmDemoOptions& options, const std::vector<std::string>& own_command_line) {
  if (options.folder.empty()) options.folder = demo_folder();
  if (options.folder.empty()) {
    return report(
        {ErrorCode::usage, "neither HOME nor XDG_CACHE_HOME is set; name a folder with --folder"});
  }
  const auto guest = make_demo_guest(options.folder, options.kernel, std::string(kScript));
  if (!guest) return report(guest.error());
  fmt::print(stderr, "hodo: starting {}\n", view::printable(guest->kernel));
  capture::VmOptions vm{.user = true, .kernel = true};
  vm.record.command = demo_machine(*guest);
  vm.record.output = options.output;
  vm.record.recorder = fmt::format("hodoscope {}", version());
  for (const char* program : kPrograms) vm.watch.names.emplace_back(program);
  const auto result = capture::record_vm(vm, own_command_line);
  if (!result) return report(result.error());
  for (const auto& warning : result->record.warnings) {
    fmt::print(stderr, "hodo: {}\n", view::printable(warning));
  }
  fmt::print(stderr, "hodo: {} bytes of trace of {} processes in {}\n", result->record.trace_bytes,
             result->record.processes, view::printable(options.output));
  if (!result->record.complete) return kExitCannotRecord;
  if (result->record.exit_status != 0) return result->record.exit_status;
  tell_what_next(options, *guest);
  return 0;
}

}  // namespace

void add_vm_demo(Program& program) {
  auto options = std::make_shared<VmDemoOptions>();
  const OptionSet app = program.command("vm-demo", kVmDemoManual,
                                        [options] { return run(*options, command_line()); });
  app.add_option("-o,--output", options->output, "write to FILE")
      .type_name("FILE")
      .capture_default_str();
  app.add_option("--kernel", options->kernel, "the kernel that the guest runs").type_name("IMAGE");
  app.add_option(
         "--folder", options->folder,
         "where the guest's files are made and kept; the default is hodoscope/vm-demo in the "
         "user's cache")
      .type_name("FOLDER");
}

}  // namespace hodo::cli
