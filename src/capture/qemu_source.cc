#include "hodo/capture/qemu_source.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "hodo/capture/launch.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/clock.h"
#include "hodo/relay/exec_plan.h"
#include "output_guard.h"
#include "plugin_probe.h"
#include "qemu_channels.h"
#include "qemu_settings.h"
#include "recording_loop.h"
#include "summary.h"

extern char** environ;

namespace hodo::capture {
namespace {

Result<LaunchSpec> launch_spec(const RecordOptions& options, const relay::Settings& settings,
                               const relay::Key& key, const std::string& plugin) {
  const auto path = find_command(options.command.front());
  if (!path) return std::unexpected(path.error());
  const auto executable = relay::inspect(*path, options.command);
  if (!executable) return std::unexpected(executable.error());
  if (executable->kind == relay::Executable::Kind::foreign) {
    return fail(ErrorCode::unsupported,
                *path + ": it is set-user-ID, not readable, or not an x86 program");
  }
  if (executable->kind == relay::Executable::Kind::not_binary) {
    return fail(
        ErrorCode::unsupported,
        *path + ": neither a program nor a script with a \"#!\" line; record its interpreter");
  }
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  const auto plan = relay::plan_exec(*executable, environment, settings, key, plugin);
  if (!plan) return std::unexpected(plan.error());
  LaunchSpec spec;
  spec.command = plan->argv;
  spec.environment = plan->environment;
  spec.snapshot_signal = options.snapshot;
  return spec;
}

// What the file says of the trace in it.
void describe_trace(const RecordOptions& options, perfdata::WriterOptions& file) {
  switch (recording_of(options.source)) {
    case relay::Recording::pt:
      file.pt = make_pt_config(options);
      file.pt.snapshot = options.snapshot;
      return;
    case relay::Recording::bts:
      file.trace = perfdata::TraceKind::intel_bts;
      file.pt.pmu_type = perfdata::kBtsPmuTypeDefault;
      return;
    case relay::Recording::lbr:
      file.trace = perfdata::TraceKind::none;
      file.attrs = perfdata::stack_attrs(options.sample_period);
      return;
  }
}

std::string summary_json(const RecordResult& result, relay::Recording recording) {
  nlohmann::ordered_json json = {
      {"source", "qemu"},
      {"unit", unit_name(recording)},
      {"processes", result.processes},
      {"threads", result.threads},
      {"trace_bytes", result.trace_bytes},
      {"overflows", result.overflows},
      {"exit_status", result.exit_status},
      {"unrecorded", result.unrecorded},
  };
  describe_trust_and_ends(json, result);
  return summary_line(json);
}

}  // namespace

Result<QemuInstallation> find_qemu() {
  QemuInstallation found;
  if (auto path = find_command("qemu-x86_64")) found.qemu64 = *path;
  if (auto path = find_command("qemu-i386")) found.qemu32 = *path;
  found.plugin = find_plugin("libhodo-qemu.so");
  found.watcher = find_plugin("libhodo-watcher.so");
  if (found.qemu64.empty()) {
    return fail(ErrorCode::unsupported,
                "qemu-x86_64 is not installed; remedy: apt-get install qemu-user (of Debian 12)");
  }
  if (found.plugin.empty()) {
    return fail(ErrorCode::unsupported,
                "libhodo-qemu.so is missing; remedy: build or install hodoscope again");
  }
  if (Status loads = probe_plugin(found.qemu64, found.plugin); !loads) {
    return std::unexpected(loads.error());
  }
  // Of another build, perhaps.
  if (!found.qemu32.empty() && !probe_plugin(found.qemu32, found.plugin)) found.qemu32.clear();
  return found;
}

Result<RecordResult> record_with_qemu(const RecordOptions& options, const QemuInstallation& qemu,
                                      const std::vector<std::string>& own_command_line) {
  if (options.pid) {
    return fail(ErrorCode::usage, "-p needs the processor's own trace (--source pt, bts or lbr)");
  }
  if (options.level != Level::user) {
    return fail(ErrorCode::usage,
                "--level: QEMU runs the program alone, without a kernel; this needs the processor's"
                " own trace (--source pt, bts or lbr)");
  }
  auto settings = make_settings(options, qemu);
  if (!settings) return std::unexpected(settings.error());
  const auto buffer = aux_size(options);
  if (!buffer) return std::unexpected(buffer.error());
  const auto key = make_key();
  if (!key) return std::unexpected(key.error());
  const std::string socket = socket_name();
  const std::string plugin = fmt::format("{},socket={},unit={}", relay::escape_option(qemu.plugin),
                                         socket, unit_name(settings->recording));
  const auto spec = launch_spec(options, *settings, *key, plugin);
  if (!spec) return std::unexpected(spec.error());
  const auto listening = relay::listen_socket(socket);
  if (!listening) return std::unexpected(listening.error());
  const Fd listener(*listening);
  perfdata::WriterOptions writer_options;
  describe_trace(options, writer_options);
  writer_options.cmdline = own_command_line;
  writer_options.version = options.recorder;
  writer_options.clock = clock_data();
  const OutputGuard output(options.output);
  auto writer = perfdata::Writer::create(options.output, std::move(writer_options));
  // Not the program's fault, whatever it is.
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  auto program = Program::prepare(*spec);
  const Status started = program ? (*program)->start() : std::unexpected(program.error());
  if (!started) {
    output.undo();
    return std::unexpected(started.error());
  }

  QemuChannels channels(*writer, *settings, *key, *buffer, options.snapshot);
  RecordingLoop recording(options, **program, listener.get(), channels, *writer);
  recording.run();

  RecordResult result;
  result.exit_status = (*program)->wait();
  channels.summarize(result);
  if (result.threads == 0 && !(*program)->asked_to_end() && !channels.file_error()) {
    output.undo();
    return fail(ErrorCode::io,
                fmt::format("nothing was recorded: {} ended with status {} and its plugin did not "
                            "report; what it said is above; remedy: hodo doctor says whether this "
                            "QEMU can record",
                            qemu.qemu64, result.exit_status));
  }
  if (const auto status = (*program)->wait_status()) {
    add_command_end(result.ends, (*program)->pid(), options.command.front(), *status);
  }
  for (const std::string& who : recording.left_behind()) {
    result.unrecorded.push_back(
        who + " had not ended: what it did later was not recorded; --wait-all waits for it");
  }
  recording.add_warnings(result);
  // Without the mark of a complete recording where data is missing, whoever's fault that is.
  const Status finished =
      channels.file_error() ? Status() : writer->finish(summary_json(result, settings->recording));
  if (channels.file_error()) {
    result.warnings.push_back("the recording ended early: " + channels.file_error()->message);
    result.complete = false;
  } else if (!finished) {
    result.warnings.push_back("the recording is not complete: " + finished.error().message);
    result.complete = false;
  }
  return result;
}

}  // namespace hodo::capture
