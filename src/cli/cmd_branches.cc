// hodo branches: every branch.
#include <unistd.h>

#include <memory>

#include "asking.h"
#include "commands.h"
#include "hodo/session/session.h"
#include "hodo/session/time_order.h"
#include "hodo/view/branches.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {
namespace {

enum class Order : unsigned char { queue, time };

struct BranchesOptions {
  ReadingOptions reading;
  WindowInput window;
  view::BranchFormat format = view::BranchFormat::text;
  Order order = Order::queue;
  bool not_taken = false;
  std::string time;
};

const Manual kBranchesManual{
    .summary = "list every branch of a recording",
    .description =
        "Rebuilds the executed path and writes one line per taken branch: who, when, of which "
        "kind, from where, to where.\n\n"
        "The branches of a thread (of a cpu, in recordings with a buffer per cpu) come one after "
        "the other in the order of execution, and one thread after the other. --sort time mixes "
        "them by time, Intel PT of up to 256 threads while it is decoded; else it needs room for 80 "
        "bytes per branch in TMPDIR, and writes nothing before all is decoded.\n\n"
        "text is for people: 'pid/tid [cpu] time: kind from => to', addresses in hex with the name "
        "of the function.\n\n"
        "csv has the columns time,cpu,pid,tid,cr3,from,to,kind,flags; addresses are in hex with "
        "0x, absent values are empty. time is in nanoseconds of perf's clock, or in the trace's "
        "own clock where the recording relates the two in no way. jsonl has the same as one JSON "
        "object per line.\n\n"
        "bin is a header of 16 bytes, 'HODOBR01' and the size of a record (48), followed by "
        "records of little-endian numbers: time, from, to, cr3 (8 bytes each; all ones where cr3 "
        "is unknown), cpu, pid, tid (4 bytes each, -1 where unknown), kind and flags (a byte "
        "each), cycles (2 bytes, of LBR).\n\n"
        "Kinds are cond jmp ijmp call icall ret syscall sysret int iret irq exc abort vmentry "
        "vmexit, and unknown for a branch of a BTS or LBR recording whose code is not at hand; "
        "begin and end mark where tracing starts and stops, lost a gap. Flags are not_taken, async "
        "(an interrupt or signal, not the instruction itself), trace_end, in_tx, mispredicted, "
        "far, and resync (the path is picked up here without a branch having gone here). Branches "
        "of wrong paths, which AMD's LBR records although they were not taken, are left out and "
        "counted.\n\n"
        "A dump for --raw lbr has a name and a number on each line (blanks, ':' or '=' between; "
        "'#' begins a comment; an empty line ends a stack): from0, from1, ..., to0, ..., info0, "
        "... for the registers as they were read, tos for the number of the newest, and either "
        "format (LBR_FMT, bits 5:0 of IA32_PERF_CAPABILITIES; arch or amd_v2) or vendor, family "
        "and model. With those, registers may also be named by their MSR, as in '0x680 = "
        "0xffffffff81000123'. In JSON the same names are members of an object, or of several in an "
        "array; from, to and info may be arrays, and numbers strings: {\"format\": 5, \"tos\": 1, "
        "\"from\": [\"0x401000\", \"0x401010\"], \"to\": [...]}. Branches come oldest first.",
    .examples =
        {{"hodo branches | less", "Page through the path of the last recording."},
         {"hodo branches --format csv --tid 4242 run.data > path.csv",
          "One thread's branches as CSV."},
         {"hodo branches --srcline --inline", "With source lines and inlined functions."},
         {"hodo branches --raw pt --image pages:pages.addr:pages.dump --filter 0x400000-0x426fff "
          "trace.pt",
          "A bare packet stream with the memory pages that it ran."},
         {"hodo branches --raw bts --image elf:/bin/ls@0x555555554000 bts.bin",
          "Branch trace store records that a driver dumped."},
         {"hodo branches --raw lbr --image elf:./vmlinux crash-lbr.txt",
          "The last branch records in a crash report."}},
    .exit_statuses = reading_exit_statuses()};

Result<view::BranchListOptions> list_options(const BranchesOptions& options, session::Clock clock) {
  view::BranchListOptions out{.format = options.format,
                              .not_taken = options.not_taken,
                              .clock = clock,
                              .style = view::style_for(STDOUT_FILENO, options.reading.color),
                              .source = options.reading.source};
  if (out.source.any() && out.format != view::BranchFormat::text) {
    return fail(ErrorCode::usage, "--srcline and --inline go with --format text");
  }
  if (!options.time.empty()) {
    auto range = parse_range("--time", options.time, "1500000-2500000");
    if (!range) return std::unexpected(range.error());
    out.from_time = range->first;
    out.until_time = range->second;
  }
  return out;
}

Result<session::Outcome> decode(const BranchesOptions& options, session::Session& session,
                                session::BranchSink& sink) {
  view::Progress progress("decoding");
  const Asking asking = asking_of(session, options.reading, progress, options.window.has_moments());
  auto window = serve::window_of(session, options.window, asking.how);
  if (!window) return std::unexpected(window.error());
  session::DecodeOptions how{
      .selection = selection_of(options.reading),
      .not_taken = options.not_taken,
      .progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); }};
  if (!window->everything()) {
    return ask::decode_window(session, *window, {.walk = how, .index = asking.how.index}, sink);
  }
  if (options.order == Order::queue) return session.decode(how, sink);
  return session::decode_by_time(session, how, sink);
}

int run(const BranchesOptions& options) {
  return with_session(options.reading, [&](session::Session& session) -> Result<Shown> {
    auto how = list_options(options, session.clock());
    if (!how) return std::unexpected(how.error());
    view::Output out(STDOUT_FILENO);
    view::BranchList list(*how, out, &session.names());
    list.begin();
    auto outcome = decode(options, session, list);
    if (!outcome) return std::unexpected(outcome.error());
    if (Status status = out.finish(); !status) return std::unexpected(status.error());
    return Shown{.losses = std::move(outcome->losses),
                 .tell = true,
                 .wrong_path = outcome->stats.wrong_path};
  });
}

}  // namespace

void add_branches(Program& program) {
  auto options = std::make_shared<BranchesOptions>();
  const OptionSet app =
      program.command("branches", kBranchesManual, [options] { return run(*options); });
  add_input_options(app, options->reading);
  using view::BranchFormat;
  add_choice<BranchFormat>(app, "--format", options->format,
                           {{"text", BranchFormat::text},
                            {"csv", BranchFormat::csv},
                            {"jsonl", BranchFormat::jsonl},
                            {"bin", BranchFormat::bin}},
                           "how to write them (default text)");
  app.add_flag("--not-taken", options->not_taken,
               "conditional branches that were not taken, too; their flag is not_taken");
  add_choice<Order>(app, "--sort", options->order, {{"queue", Order::queue}, {"time", Order::time}},
                    "thread after thread as recorded (queue, the default), or all by time");
  add_source_options(app, options->reading);
  add_selection_options(app, options->reading);
  app.add_option(
         "--time", options->time,
         "only branches of this time, as first-last in the unit of the time column; those of "
         "unknown time count as 0")
      .type_name("FROM-TO");
  add_window_options(app, options->reading, options->window);
  add_color_option(app, options->reading);
}

}  // namespace hodo::cli
