// hodo vm attach: processes inside a virtual machine that is running, with the processor's trace.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "commands.h"
#include "hodo/capture/vm_attach.h"
#include "hodo/view/text.h"
#include "output_file.h"
#include "record_options.h"
#include "record_status.h"
#include "version.h"

namespace hodo::cli {
namespace {

constexpr std::string_view kVmAttachDescription =
    "Records every branch of a virtual machine that is running already under KVM, with the "
    "processor's Intel PT and the stock kernel: nothing is patched, and the machine needs no agent "
    "and no restart. It only has to have a QMP socket (-qmp unix:PATH,server=on,wait=off), from "
    "which hodo learns which threads of QEMU run its virtual processors.\n\n"
    "The guest's part of the trace is kept, kernel and user mode, in a buffer for each virtual "
    "processor; the host's is left out. PIP packets say when which address space ran, and the "
    "guest's own task list, read from its memory, whose that is; one that nobody there owns is "
    "named by its CR3 ('cr3-5a2000'). The code is read from the guest's memory as well: the "
    "kernel's before the trace begins, a process's when it has been seen to run, again every two "
    "seconds, and at the end. Times are those of the guest's TSC.\n\n"
    "The recording ends after --seconds, at Ctrl-C or SIGTERM, at --max-size, or with the machine, "
    "which goes on otherwise. The host needs an Intel processor of Skylake's generation or later, "
    "kvm_intel.pt_mode=0 (the default), and the right to trace the kernel: root, CAP_PERFMON, or "
    "kernel.perf_event_paranoid=-1; and to read the guest's memory, to be the user that runs QEMU, "
    "or root. Linux guests are understood whose kernel has kallsyms and BTF, as those of all "
    "distributions have; of others hodo packets and hodo stats show what there is.";

struct VmAttachOptions {
  capture::VmAttachOptions attach;
  std::string max_size, buffer_size;
  std::uint64_t seconds = 0;
  std::vector<std::string> own_command_line;
  bool quiet = false;
};

int attach(VmAttachOptions& options) {
  if (Status status = check_recording_path(options.attach.record.output); !status) {
    fmt::print(stderr, "hodo: {}\n", status.error().message);
    return kExitUsage;
  }
  for (const auto& [text, name, value] :
       {std::tuple{&options.max_size, "--max-size", &options.attach.record.max_size},
        std::tuple{&options.buffer_size, "--buffer-size", &options.attach.record.buffer_size}}) {
    if (text->empty()) continue;
    const auto size = parse_size(*text, name);
    if (!size) {
      fmt::print(stderr, "hodo: {}\n", size.error().message);
      return kExitUsage;
    }
    *value = *size;
  }
  options.attach.seconds = static_cast<double>(options.seconds);
  capture::PerfEventContext context;
  context.cmdline = options.own_command_line;
  context.version = options.attach.record.recorder;
  const auto result = capture::record_vm_attach(options.attach, context);
  if (!result) {
    fmt::print(stderr, "hodo: {}\n", view::printable(result.error().message));
    return exit_status_of(result.error());
  }
  for (const auto& warning : result->warnings) fmt::print(stderr, "hodo: {}\n", warning);
  if (!options.quiet) {
    fmt::print(stderr, "hodo: {} bytes of trace of {} address spaces in {}; see hodo report {}\n",
               result->trace_bytes, result->processes, options.attach.record.output,
               options.attach.record.output);
  }
  return result->complete ? kExitOk : kExitCannotRecord;
}

}  // namespace

void add_vm_attach(Program& program) {
  auto options = std::make_shared<VmAttachOptions>();
  Manual manual{.summary = "record a running virtual machine with the processor's Intel PT",
                .description = kVmAttachDescription,
                .examples = {{"hodo vm attach --qmp /run/vm1.qmp --seconds 2",
                              "Records two seconds of the machine into hodo.data."},
                             {"hodo vm attach --qmp /run/vm1.qmp --buffer-size 64M -o boot.data",
                              "Records until Ctrl-C, with buffers that stand a busy guest."}},
                .exit_statuses = {{"0", "The recording is whole."},
                                  {"2", "Wrong usage."},
                                  {"125", "The recording could not be made, or is not whole."},
                                  {"126", "This machine, or the rights on it, do not allow it."},
                                  {"127", "No such socket."}}};
  const OptionSet app =
      program.command("vm-attach", std::move(manual), [options] { return attach(*options); });
  options->own_command_line = command_line();
  options->attach.record.recorder = fmt::format("hodoscope {}", version());
  app.add_option("--qmp", options->attach.qmp_socket, "the machine's QMP socket")
      .type_name("SOCKET")
      .required();
  app.add_option("-o,--output", options->attach.record.output, "write to FILE")
      .type_name("FILE")
      .capture_default_str();
  app.add_option("--seconds", options->seconds, "end the recording after this time")
      .type_name("SECONDS")
      .range(1);
  app.add_option("--max-size", options->max_size,
                 "end the recording when the file has this size: 500K, 200M, 2G")
      .type_name("SIZE");
  app.add_option("--buffer-size", options->buffer_size,
                 "size of each virtual processor's trace buffer (default 4M)")
      .type_name("SIZE");
  app.add_flag("-q,--quiet", options->quiet, "print only what went wrong");
}

}  // namespace hodo::cli
