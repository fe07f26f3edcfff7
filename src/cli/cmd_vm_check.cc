// hodo vm check: has anybody hooked the kernel of a virtual machine?
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "hodo/kernelcheck/kernel_checker.h"
#include "hodo/kernelcheck/kernel_image.h"
#include "hodo/session/time_order.h"
#include "hodo/view/findings.h"
#include "hodo/view/losses.h"
#include "hodo/view/output.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {
namespace {

const Manual kVmCheckManual{
    .summary = "find hooks in the kernel of a virtual machine",
    .description =
        "Follows every branch that a guest's kernel took in a recording of hodo vm record "
        "--kernel, and reports where a module has put itself in the place of the kernel's own "
        "functions, as rootkits do to hide files, processes or connections. Each finding names the "
        "kernel's function and the module's, and shows the branches around the first time.\n\n"
        "kernel.jump: a function of the kernel jumps or calls straight into a module, so its text "
        "was changed, at its start or inside. kernel.pointer: an indirect call went where a "
        "pointer leads that lies in the kernel's read-only data (file operations, the table of "
        "system calls) and should lead to the kernel. kernel.detour: the call at a function's "
        "start that is there for tracing did not come back but went on in a module's function; "
        "live patches do that as well. kernel.text, with --kernel: code that ran differs from the "
        "kernel's image, and none of the kernel's own tables lists that place as one that it "
        "changes.\n\n"
        "What a kernel does to itself is no finding: alternatives, return thunks, retpolines, jump "
        "labels, static calls, ftrace and kprobes that come back, and calls of modules through "
        "pointers that are meant to be changed. Nor is a pointer that can be written, which is how "
        "modules offer what they have: one that was hijacked is not told from one that was "
        "registered. A hook is seen when it runs; record what it would hide from (ls, ps).",
    .examples = {{"hodo vm record --kernel --user --process ls -o vm.data -- qemu-system-x86_64 "
                  "-drive file=disk.img",
                  "Records every ls in the guest with the kernel's part; then run some there."},
                 {"hodo vm check vm.data", "Has the kernel that served them been hooked?"},
                 {"hodo vm check vm.data --kernel /boot/vmlinuz-6.1.0-56-amd64",
                  "Holds its text against the image that the guest was started with, too."},
                 {"hodo vm check vm.data --json | jq -r '.findings[].reason'", "For programs."}},
    .exit_statuses = {{"0", "Nothing was found, and everything was checked."},
                      {"1", "Something was found."},
                      {"2", "Wrong use, or a recording without the code of a guest's kernel."},
                      {"3", "Nothing was found, but part of the recording was lost."}}};

struct VmCheckOptions {
  ReadingOptions reading;
  std::string kernel;
};

std::vector<std::string> not_judged(bool with_image) {
  std::vector<std::string> out;
  if (!with_image) {
    out.emplace_back(
        "whether the kernel's own code that ran is as it was built; give its image with --kernel");
  }
  out.emplace_back(
      "pointers in memory that may be written, which modules set to offer what they do");
  return out;
}

Result<view::Checked> check_session(const VmCheckOptions& options, session::Session& session) {
  std::optional<kernelcheck::KernelImage> image;
  if (!options.kernel.empty()) {
    auto opened = kernelcheck::KernelImage::open(options.kernel);
    if (!opened) return std::unexpected(opened.error());
    image = std::move(*opened);
  }
  auto checker = kernelcheck::KernelChecker::of(session, image ? &*image : nullptr);
  if (!checker) return std::unexpected(checker.error());
  view::Progress progress("checking");
  // A task's branches lie in the streams of all processors that it ran on.
  auto outcome = session::decode_by_time(
      session,
      {.selection = selection_of(options.reading),
       .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }},
      **checker);
  progress.clear();
  if (!outcome) return std::unexpected(outcome.error());
  return view::Checked{.branches = (*checker)->checked(),
                       .findings = (*checker)->findings(),
                       .losses = std::move(outcome->losses),
                       .not_judged = not_judged(image.has_value())};
}

int run(const VmCheckOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    const auto checked = check_session(options, session);
    if (!checked) return std::unexpected(checked.error());
    view::Output out(STDOUT_FILENO);
    out.write(options.reading.json
                  ? view::json_text(view::findings_json(*checked, session))
                  : view::findings_text(*checked, session,
                                        view::style_for(STDOUT_FILENO, options.reading.color)));
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    const int clean = checked->complete() ? kExitOk : kExitIncomplete;
    return Shown{.status = checked->findings.empty() ? clean : kExitFindings};
  });
}

}  // namespace

void add_vm_check(Program& program) {
  auto options = std::make_shared<VmCheckOptions>();
  const OptionSet app =
      program.command("vm-check", kVmCheckManual, [options] { return run(*options); });
  app.add_option("FILE", options->reading.file, "the recording").capture_default_str();
  app.add_option("--kernel", options->kernel,
                 "hold the text that ran against this vmlinuz or vmlinux, too")
      .type_name("IMAGE");
  app.add_flag("--json", options->reading.json, "one JSON object");
  add_selection_options(app, options->reading);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
