#include "hodo/capture/qemu_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "channel/channel_recording.h"
#include "channel/unit_settings.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/exec_plan.h"
#include "plugin_probe.h"
#include "run/launch.h"
#include "run/setting_up.h"

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
    return fail(ErrorCode::unsupported, *path + ": " + executable->obstacle);
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
  if (!options.pids.empty()) {
    return fail(ErrorCode::usage, "-p: QEMU cannot attach; remedy: --source dbi");
  }
  if (options.level != Level::user) {
    return fail(ErrorCode::usage,
                "--level: QEMU runs the program alone, without a kernel; this needs the processor's"
                " own trace (--source pt, bts or lbr)");
  }
  ChannelRecording recording;
  recording.source = "qemu";
  auto settings = make_settings(options, qemu);
  if (!settings) return std::unexpected(settings.error());
  recording.settings = *settings;
  const auto key = make_key();
  if (!key) return std::unexpected(key.error());
  recording.key = *key;
  recording.socket = socket_name();
  const std::string plugin = fmt::format("{},socket={},unit={}", relay::escape_option(qemu.plugin),
                                         recording.socket, unit_name(settings->recording));
  auto spec = launch_spec(options, *settings, *key, plugin);
  if (!spec) return std::unexpected(spec.error());
  recording.spec = std::move(*spec);
  recording.silent = fmt::format(
      "{} ended and its plugin did not report; what it said is above; remedy: hodo doctor says "
      "whether this QEMU can record",
      qemu.qemu64);
  return record_through_channels(options, recording, own_command_line);
}

}  // namespace hodo::capture
