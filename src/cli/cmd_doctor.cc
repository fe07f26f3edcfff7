// hodo doctor: what this machine can record, and what to do about the rest.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "hodo/capture/btf_probe.h"
#include "hodo/capture/capability.h"
#include "hodo/capture/dbi_source.h"
#include "hodo/capture/host_cpuid.h"
#include "hodo/capture/msr_device.h"
#include "hodo/capture/pmu.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/doctor/report.h"
#include "hodo/hw/cpuid_dump.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "reading.h"

namespace hodo::cli {
namespace {

const Manual kDoctorManual{
    .summary = "say what this machine can record, and what to do about the rest",
    .description =
        "One screen: the processor, the hypervisor and the kernel, and for each way of recording "
        "branches (Intel PT, BTS, LBR, PEBS, stepping by BTF, QEMU) whether it can be used, why "
        "not, and what to do about it, with the details of what there is.\n\n"
        "The facts come from CPUID, /sys, /proc and, for root, the processor's registers "
        "(/dev/cpu/0/msr). An event of each kind is opened for a moment, since only the kernel "
        "knows all its reasons to refuse; nothing is recorded and nothing changed.\n\n"
        "With --cpuid-dump the processor is another machine's, as the text that `cpuid -r` prints "
        "there says. Its kernel and its firmware's settings are not known then.",
    .examples = {{"hodo doctor", "This machine."},
                 {"hodo doctor --json | jq .means.pt.available", "One answer for a script."},
                 {"hodo doctor --cpuid-dump server.txt",
                  "The processor of a machine where `cpuid -r > server.txt` was run."}},
    .exit_statuses = {{"0", "the report was made, whatever it says"},
                      {"2", "usage error, or a dump that cannot be read"}}};

struct DoctorOptions {
  std::string dump;
  bool json = false;
  view::ColorMode color = view::ColorMode::automatic;
};

doctor::Facts gather_here() {
  const capture::HostCpuid cpuid;
  auto msrs = capture::MsrDevice::open(0, capture::MsrDevice::Access::read);
  return doctor::gather({.cpuid = &cpuid,
                         .msrs = msrs ? &*msrs : nullptr,
                         .no_msrs = msrs ? "" : msrs.error().message,
                         .kernel = &capture::system_kernel(),
                         .privileged = capture::is_perfmon_capable(),
                         .find_qemu = capture::find_qemu,
                         .find_engine = capture::find_engine,
                         .steps_branches = capture::probe_btf});
}

Result<doctor::Facts> gather_from(const DoctorOptions& options) {
  if (options.dump.empty()) return gather_here();
  const auto text = capture::read_small_file(options.dump);
  if (!text) return fail(ErrorCode::io, "there is no such file, or it cannot be read");
  const auto dump = hw::CpuidDump::parse(*text);
  if (!dump) return std::unexpected(dump.error());
  return doctor::gather_dump(*dump);
}

int run(const DoctorOptions& options) {
  const auto facts = gather_from(options);
  if (!facts) return report_error(options.dump, facts.error());
  const doctor::Report report = doctor::diagnose(*facts);
  view::Output out(STDOUT_FILENO);
  out.write(options.json
                ? view::json_text(doctor::report_json(report))
                : doctor::report_text(report, view::style_for(STDOUT_FILENO, options.color)));
  if (Status status = out.finish(); !status) return report_error("standard output", status.error());
  return kExitOk;
}

}  // namespace

void add_doctor(Program& program) {
  auto options = std::make_shared<DoctorOptions>();
  const OptionSet app =
      program.command("doctor", kDoctorManual, [options] { return run(*options); });
  app.add_option("--cpuid-dump", options->dump, "the processor of this `cpuid -r` text")
      .type_name("FILE");
  app.add_flag("--json", options->json, "one JSON object");
  add_color_option(app, options->color);
}

}  // namespace hodo::cli
