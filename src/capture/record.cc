#include "hodo/capture/record.h"

#include <utility>

#include "hodo/capture/dbi_source.h"
#include "hodo/capture/perf_event_source.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/relay/exec_plan.h"
#include "run/launch.h"
#include "step/step_source.h"

namespace hodo::capture {
namespace {

void notice(const RecordOptions& options, const std::string& line) {
  if (options.notice) options.notice(line);
}

Result<RecordResult> with_engine(const RecordOptions& options,
                                 const std::vector<std::string>& cmdline) {
  const auto engine = find_engine();
  if (!engine) return std::unexpected(engine.error());
  return record_with_engine(options, *engine, cmdline);
}

Result<RecordResult> with_qemu(const RecordOptions& options,
                               const std::vector<std::string>& cmdline) {
  const auto qemu = find_qemu();
  if (qemu) return record_with_qemu(options, *qemu, cmdline);
  if (options.source != SourceKind::automatic || !step_can(options)) {
    return std::unexpected(qemu.error());
  }
  notice(options, "the program is stepped, thousands of times slower than it is by itself, since " +
                      qemu.error().message);
  return record_by_stepping(options, cmdline);
}

Result<RecordResult> without_engine(const RecordOptions& options,
                                    const std::vector<std::string>& cmdline, const Error& why) {
  notice(options, "the engine cannot record this: " + why.message);
  auto recorded = with_qemu(options, cmdline);
  if (!recorded) {
    Error error = recorded.error();
    error.message += "; nor the engine: " + why.message;
    return std::unexpected(error);
  }
  return recorded;
}

bool is_narrow(const RecordOptions& options) {
  const auto path = find_command(options.command.front());
  const auto program =
      path ? relay::inspect(*path, options.command) : std::unexpected(path.error());
  return program && program->kind == relay::Executable::Kind::i386;
}

// What there is without trace hardware: the engine, which runs 64-bit programs; QEMU; steps.
Result<RecordResult> in_software(const RecordOptions& options,
                                 const std::vector<std::string>& cmdline) {
  if (!options.pids.empty()) return with_engine(options, cmdline);  // only that can attach
  const auto engine = find_engine();
  if (!engine) return without_engine(options, cmdline, engine.error());
  if (!dbi_can(options)) return with_qemu(options, cmdline);
  auto recorded = record_with_engine(options, *engine, cmdline);
  // A 32-bit program, or one that lies where the engine belongs: nothing has run yet.
  const bool other = !recorded && recorded.error().code == ErrorCode::unsupported &&
                     (find_qemu().has_value() || is_narrow(options));
  return other ? with_qemu(options, cmdline) : recorded;
}

// The processor's own trace, else software's.
Result<RecordResult> automatically(const RecordOptions& options, const PerfEventContext& perf) {
  const bool in_program = options.wait_all || !options.debug_log.empty();
  const Status processor =
      in_program ? Status(fail(ErrorCode::usage, "")) : probe_perf_event(SourceKind::pt, perf);
  if (processor) return record_perf_event(options, perf);
  if (options.level != Level::user) return std::unexpected(processor.error());
  return in_software(options, perf.cmdline);
}

}  // namespace

Result<RecordResult> record(const RecordOptions& options,
                            const std::vector<std::string>& own_command_line) {
  PerfEventContext perf;
  perf.cmdline = own_command_line;
  perf.version = options.recorder;
  switch (options.source) {
    case SourceKind::pt:
      return record_perf_event(options, perf);
    case SourceKind::dbi:
      return with_engine(options, own_command_line);
    case SourceKind::qemu:
      return with_qemu(options, own_command_line);
    case SourceKind::automatic:
      return automatically(options, perf);
    case SourceKind::bts:
    case SourceKind::lbr: {
      // Software alone can do these two.
      if (options.pids.empty() && (options.wait_all || !options.debug_log.empty())) {
        return in_software(options, own_command_line);
      }
      const Status processor = probe_perf_event(options.source, perf);
      if (processor) return record_perf_event(options, perf);
      // Software runs no kernel of which it could tell.
      if (options.level != Level::user) return std::unexpected(processor.error());
      return in_software(options, own_command_line);
    }
    case SourceKind::step:
      return record_by_stepping(options, own_command_line);
  }
  std::unreachable();
}

}  // namespace hodo::capture
