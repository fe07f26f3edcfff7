// hodo vm record: processes inside a virtual machine.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "commands.h"
#include "hodo/capture/vm_source.h"
#include "hodo/view/text.h"
#include "output_file.h"
#include "record_options.h"
#include "record_status.h"
#include "version.h"

namespace hodo::cli {
namespace {

constexpr std::string_view kVmRecordDescription =
    "Runs a virtual machine, the words behind '--', and writes down every branch that the chosen "
    "processes inside of it take: in user mode, with --kernel in the guest's kernel, with both "
    "everywhere. The guest needs no agent, no driver and no change: a plugin inside QEMU watches "
    "it from outside and asks the guest's own kernel structures who runs. Linux guests whose "
    "kernel has BTF and kallsyms are understood, as those of all distributions have; of other "
    "guests each address space counts as a process, named by its CR3, and their kernel is not "
    "recorded.\n\n"
    "--process, --pid and --cr3 may be given several times and together. Who starts later is "
    "recorded, too; a name is the one that the guest's kernel has, of at most 15 characters. "
    "Processes that are not recorded cost one look-up at each switch. A process that is chosen by "
    "its name is recorded from the moment it gets that name: in the midst of the exec, or when it "
    "renames itself, as busybox's commands do; what came before is not. Its kernel part goes up to "
    "its end; with --process all the kernel's own threads and the idle task (process 0) are "
    "recorded, too, from the first program on. The kernel's functions and those of its modules "
    "have their names; code that the kernel patches is kept in every version that ran.\n\n"
    "QEMU must emulate the processor (-accel tcg, which is its default); with KVM nothing would be "
    "seen. The recording is a perf.data file with a buffer for each virtual processor and the "
    "guest's processes as processes; it holds the code that ran, so hodo's reading commands need "
    "no files of the guest.";

struct VmRecordOptions {
  capture::VmOptions vm;
  std::vector<std::string> names, cr3s;
  std::vector<std::int32_t> pids;
  std::vector<std::string> own_command_line;
  bool user = false, kernel = false, children = false;
  bool quiet = false;
};

Status choose(VmRecordOptions& options) {
  if (Status status = check_recording_path(options.vm.record.output); !status) return status;
  options.vm.watch.children = options.children;
  options.vm.kernel = options.kernel;
  options.vm.user = options.user || !options.kernel;
  std::vector<std::string> words;
  words.reserve(options.names.size() + options.pids.size() + options.cr3s.size());
  for (const auto& name : options.names) words.push_back("process=" + name);
  for (const auto pid : options.pids) words.push_back("pid=" + std::to_string(pid));
  for (const auto& cr3 : options.cr3s) words.push_back("cr3=" + cr3);
  for (const auto& word : words) {
    if (guest::parse_watch(word, options.vm.watch)) continue;
    return fail(ErrorCode::usage, fmt::format("--{}: names no process", word));
  }
  return {};
}

int record(VmRecordOptions& options) {
  const auto& command = options.vm.record.command;
  if (command.empty() || command.front().starts_with('-')) {
    fmt::print(stderr,
               "hodo: vm record: no machine given; write for example: hodo vm record --process "
               "init -- qemu-system-x86_64 -kernel vmlinuz -initrd initrd.img\n");
    return kExitUsage;
  }
  const Status chosen = choose(options);
  const auto result = chosen ? capture::record_vm(options.vm, options.own_command_line)
                             : Result<capture::VmResult>(std::unexpected(chosen.error()));
  if (!result) {
    fmt::print(stderr, "hodo: {}\n", result.error().message);
    return exit_status_of(result.error());
  }
  for (const auto& warning : result->record.warnings) {
    fmt::print(stderr, "hodo: {}\n", view::printable(warning));
  }
  if (!options.quiet) {
    fmt::print(stderr, "hodo: guest: {}\n", view::printable(result->guest));
    fmt::print(stderr, "hodo: {} bytes of trace of {} processes in {}; see hodo report {}\n",
               result->record.trace_bytes, result->record.processes, options.vm.record.output,
               options.vm.record.output);
  }
  if (!result->record.complete && result->record.exit_status == 0) return kExitCannotRecord;
  return result->record.exit_status;
}

}  // namespace

void add_vm_record(Program& program) {
  auto options = std::make_shared<VmRecordOptions>();
  Manual manual{
      .summary = "run a virtual machine and record processes inside of it",
      .description = kVmRecordDescription,
      .examples =
          {{"hodo vm record --process sshd -- qemu-system-x86_64 -m 1G -drive file=disk.img",
            "Records every sshd of the guest into hodo.data."},
           {"hodo vm record --user --kernel --process cat -- qemu-system-x86_64 -m 1G -drive "
            "file=disk.img",
            "Records what cat does, with the system calls, interrupts and page faults in between."},
           {"hodo vm record --process all -o boot.data -- qemu-system-x86_64 -nographic "
            "-kernel vmlinuz -initrd initrd.img -append console=ttyS0",
            "Records all user programs of a boot."}},
      .exit_statuses = {{"0-255", "QEMU's own; 128 + N if signal N killed it."},
                        {"2", "Wrong usage."},
                        {"125", "The recording could not be made, or is not whole."},
                        {"126", "QEMU was found but could not be run."},
                        {"127", "No such program."}}};
  auto action = [options, &program] {
    options->vm.record.command = program.remaining("vm-record");
    return record(*options);
  };
  const OptionSet app = program.command("vm-record", std::move(manual), std::move(action));
  options->own_command_line = command_line();
  options->vm.record.recorder = fmt::format("hodoscope {}", version());
  app.add_option("-o,--output", options->vm.record.output, "write to FILE")
      .type_name("FILE")
      .capture_default_str();
  app.add_option("--process", options->names, "record processes of this name, or 'all'")
      .type_name("NAME")
      .one_at_a_time();
  app.add_option("--pid", options->pids, "record the process that has this number in the guest")
      .type_name("N")
      .one_at_a_time();
  app.add_option("--cr3", options->cr3s, "record the address space with this CR3")
      .type_name("HEX")
      .one_at_a_time();
  app.add_flag("--children", options->children, "record the processes that they start, too");
  app.add_flag("--user", options->user, "record what they do in user mode; the default");
  app.add_flag("--kernel", options->kernel, "record what they do in the guest's kernel");
  app.add_flag("-q,--quiet", options->quiet, "print only what went wrong");
  app.prefix_command();
}

}  // namespace hodo::cli
