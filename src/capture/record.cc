#include "hodo/capture/record.h"

#include <utility>

#include "hodo/capture/perf_event_source.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/capture/step_source.h"

namespace hodo::capture {
namespace {

Result<RecordResult> with_qemu(const RecordOptions& options,
                               const std::vector<std::string>& cmdline) {
  const auto qemu = find_qemu();
  if (!qemu) return std::unexpected(qemu.error());
  return record_with_qemu(options, *qemu, cmdline);
}

}  // namespace

Result<RecordResult> record(const RecordOptions& options,
                            const std::vector<std::string>& own_command_line) {
  PerfEventContext perf;
  perf.cmdline = own_command_line;
  perf.version = options.recorder;
  // The watcher's log only exists under QEMU.
  const bool own = options.debug_log.empty();
  switch (options.source) {
    case SourceKind::pt:
      return record_perf_event(options, perf);
    case SourceKind::qemu:
      return with_qemu(options, own_command_line);
    case SourceKind::automatic:
      if (own && probe_perf_event(SourceKind::pt, perf)) return record_perf_event(options, perf);
      return with_qemu(options, own_command_line);
    case SourceKind::bts:
    case SourceKind::lbr: {
      const Status processor = own ? probe_perf_event(options.source, perf) : Status();
      if (own && processor) return record_perf_event(options, perf);
      // QEMU runs no kernel of which it could tell.
      if (own && options.level != Level::user) return std::unexpected(processor.error());
      return with_qemu(options, own_command_line);
    }
    case SourceKind::step:
      return record_by_stepping(options, own_command_line);
  }
  std::unreachable();
}

}  // namespace hodo::capture
