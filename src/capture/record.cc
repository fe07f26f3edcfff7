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
  if (qemu) return record_with_qemu(options, *qemu, cmdline);
  if (options.source != SourceKind::automatic || !step_can(options)) {
    return std::unexpected(qemu.error());
  }
  auto stepped = record_by_stepping(options, cmdline);
  if (stepped) {
    stepped->warnings.push_back("the program was stepped, since " + qemu.error().message);
  }
  return stepped;
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
    case SourceKind::bts:
    case SourceKind::lbr: {
      // Only QEMU can do these two.
      if (options.wait_all || !options.debug_log.empty()) {
        return with_qemu(options, own_command_line);
      }
      const bool automatic = options.source == SourceKind::automatic;
      const Status processor = probe_perf_event(automatic ? SourceKind::pt : options.source, perf);
      if (processor) return record_perf_event(options, perf);
      // QEMU runs no kernel of which it could tell.
      if (options.level != Level::user) return std::unexpected(processor.error());
      return with_qemu(options, own_command_line);
    }
    case SourceKind::step:
      return record_by_stepping(options, own_command_line);
  }
  std::unreachable();
}

}  // namespace hodo::capture
