#include "hodo/capture/record.h"

#include "hodo/capture/perf_event_source.h"
#include "hodo/capture/qemu_source.h"

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
  switch (options.source) {
    case SourceKind::pt:
      return record_perf_event(options, perf);
    case SourceKind::qemu:
      return with_qemu(options, own_command_line);
    case SourceKind::automatic:
      // The watcher's log only exists under QEMU.
      if (options.debug_log.empty() && probe_perf_event(perf))
        return record_perf_event(options, perf);
      return with_qemu(options, own_command_line);
    case SourceKind::bts:
    case SourceKind::lbr:
      return with_qemu(options, own_command_line);
    default:
      return fail(ErrorCode::unsupported, "this source cannot record yet; use --source pt or qemu");
  }
}

}  // namespace hodo::capture
