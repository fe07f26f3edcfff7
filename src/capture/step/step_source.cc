#include "step_source.h"

#include <fmt/format.h>
#include <poll.h>

#include <utility>

#include "hodo/capture/btf_probe.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/clock.h"
#include "run/launch.h"
#include "run/output_guard.h"
#include "run/recording_loop.h"
#include "run/setting_up.h"
#include "run/summary.h"
#include "step_file.h"
#include "stepper.h"

namespace hodo::capture {
namespace {

constexpr int kPollMs = 50;

// The option that stepping does not have; null: it has them all.
const char* refused_by(const RecordOptions& options) {
  return !options.pids.empty()          ? "-p"
         : options.snapshot             ? "--snapshot"
         : options.wait_all             ? "--wait-all"
         : !options.filters.empty()     ? "--filter"
         : !options.debug_log.empty()   ? "--debug-log"
         : options.level != Level::user ? "--level"
                                        : nullptr;
}

Status check(const RecordOptions& options) {
  if (const char* refused = refused_by(options)) {
    return fail(ErrorCode::usage, std::string(refused) + " does not go with --source step");
  }
  if (options.command.empty()) return fail(ErrorCode::usage, "no command to run");
  const auto found = find_command(options.command[0]);
  return found ? Status() : std::unexpected(found.error());
}

class StepRecorder final : public Recorder {
 public:
  StepRecorder(Program& program, Stepper& stepper, StepFile& file, perfdata::Writer& writer)
      : program_(program), stepper_(stepper), file_(file), writer_(writer) {}

  bool over() override { return started_ && stepper_.idle(); }

  Status wait() override {
    const auto any = stepper_.handle_stops();
    if (!any) return std::unexpected(any.error());
    started_ = started_ || !stepper_.idle() || program_.exit_status();
    if (*any) return {};
    pollfd waiting{.fd = program_.event_fd(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, kPollMs);
    return {};
  }

  ProgramEvents take_events() override { return program_.take_signals(); }

  // The file is written while stepping.
  Status drain() override {
    // Who outlives a program that was asked to end goes on alone.
    if (program_.asked_to_end() && program_.exit_status()) static_cast<void>(stop());
    return {};
  }

  bool stop() override {
    const bool running = !stepper_.idle();
    if (!std::exchange(let_go_, true)) stepper_.let_go();
    return running;
  }

  Status flush() override {
    const Status status = file_.flush();
    return status ? writer_.flush() : status;
  }

 private:
  Program& program_;
  Stepper& stepper_;
  StepFile& file_;
  perfdata::Writer& writer_;
  bool started_ = false;
  bool let_go_ = false;
};

Result<perfdata::Writer> create_file(const RecordOptions& options,
                                     const std::vector<std::string>& own_command_line) {
  perfdata::WriterOptions file;
  file.trace = perfdata::TraceKind::intel_bts;
  file.pt.pmu_type = perfdata::kBtsPmuTypeDefault;
  file.cmdline = own_command_line;
  file.version = options.recorder;
  file.clock = clock_data();
  return perfdata::Writer::create(options.output, std::move(file));
}

std::string speed_line(const Stepper& stepper, Stepper::Unit unit, std::uint64_t nanoseconds) {
  const std::uint64_t steps = stepper.steps() != 0 ? stepper.steps() : 1;
  const std::string line =
      fmt::format("stepping is slow: {} stops of {:.1f} us each, one for every ", stepper.steps(),
                  1e-3 * static_cast<double>(nanoseconds) / static_cast<double>(steps));
  if (unit == Stepper::Unit::branches) return line + "taken branch";
  return line + "instruction, since branches cannot be stepped here (DEBUGCTL.BTF is ignored)" +
         (stepper.stepped_wide() ? "; --source dbi is some hundred times as fast" : "");
}

}  // namespace

bool step_can(const RecordOptions& options) {
  return refused_by(options) == nullptr && options.pt == PtOptions{} && options.buffer_size == 0;
}

Result<RecordResult> record_by_stepping(const RecordOptions& options,
                                        const std::vector<std::string>& own_command_line) {
  if (Status status = check(options); !status) return std::unexpected(status.error());
  // A child that cannot be stepped says why when the program is seized.
  const auto unit =
      probe_btf().value_or(false) ? Stepper::Unit::branches : Stepper::Unit::instructions;
  auto program =
      Program::prepare({.command = options.command, .environment = {}, .inherit_fds = {}});
  if (!program) return std::unexpected(program.error());
  const OutputGuard output(options.output);
  auto writer = create_file(options, own_command_line);
  // Not the program's fault, whatever it is.
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  StepFile file(*writer);
  Stepper stepper(**program, file, unit, options.follow_children);
  Status started = stepper.seize();
  if (started) started = (*program)->start();
  if (!started) {
    output.undo();
    return std::unexpected(started.error());
  }
  const std::uint64_t begun = relay::now();
  StepRecorder recorder(**program, stepper, file, *writer);
  RecordingLoop loop(options, recorder, *writer);
  Status recorded = loop.run();
  if (recorded) recorded = file.flush();
  const std::uint64_t took = relay::now() - begun;
  if (!recorded) stepper.let_go();

  RecordResult result;
  result.exit_status = (*program)->wait();
  result.trace_bytes = file.trace_bytes();
  result.threads = file.threads();
  result.processes = file.processes();
  result.ends = stepper.ends();
  if (const auto status = (*program)->wait_status()) {
    add_command_end(result.ends, (*program)->pid(), options.command.front(), *status);
  }
  result.warnings.push_back(speed_line(stepper, unit, took));
  loop.add_warnings(result);
  if ((*program)->killed()) result.warnings.emplace_back(kKilledWarning);
  if (recorded) {
    nlohmann::ordered_json summary = {{"source", "step"},
                                      {"processes", result.processes},
                                      {"threads", result.threads},
                                      {"trace_bytes", result.trace_bytes},
                                      {"steps", stepper.steps()}};
    describe_trust_and_ends(summary, result);
    recorded = writer->finish(summary_line(summary));
  }
  if (!recorded) {
    result.warnings.push_back("the recording is not complete: " + recorded.error().message);
    result.complete = false;
  }
  return result;
}

}  // namespace hodo::capture
