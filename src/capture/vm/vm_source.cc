#include "hodo/capture/vm_source.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "channel/channel_loop.h"
#include "channel/unit_settings.h"
#include "hodo/hw/intel_pt.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/exec_plan.h"
#include "run/launch.h"
#include "run/output_guard.h"
#include "run/setting_up.h"
#include "run/summary.h"
#include "vm_channels.h"

namespace hodo::capture {
namespace {

constexpr std::string_view kPlugin = "libhodo-qemu-system.so";

// KVM runs the guest on the processor itself, where the plugin sees nothing.
bool asks_for_kvm(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    std::string_view word = command[i];
    if (word.starts_with("--")) word.remove_prefix(1);
    if (word == "-enable-kvm") return true;
    const bool names_it = word == "-accel" || word == "-machine" || word == "-M";
    if (!names_it || i + 1 == command.size()) continue;
    const std::string_view value = command[i + 1];
    if (value == "kvm" || value.starts_with("kvm,") || value.find("accel=kvm") != value.npos) {
      return true;
    }
  }
  return false;
}

Status check(const VmOptions& options) {
  const guest::WatchList& watch = options.watch;
  if (!watch.everyone && watch.names.empty() && watch.pids.empty() && watch.cr3s.empty()) {
    return fail(ErrorCode::usage,
                "nobody to record: give --process NAME, --process all, --pid N or --cr3 HEX");
  }
  const std::string& qemu = options.record.command.front();
  if (qemu.find("qemu-system-x86_64") == qemu.npos) {
    return fail(ErrorCode::usage, qemu + ": the command must be qemu-system-x86_64");
  }
  if (asks_for_kvm(options.record.command)) {
    return fail(ErrorCode::usage,
                "with KVM the emulator does not see what the guest executes; leave -enable-kvm and "
                "accel=kvm out, or write -accel tcg");
  }
  return {};
}

// QEMU's own "-plugin FILE,key=value,..." in front of the user's arguments.
Result<LaunchSpec> launch_spec(const VmOptions& options, const std::string& socket,
                               const relay::Key& key) {
  const std::string file = find_plugin(std::string(kPlugin));
  if (file.empty()) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is missing; remedy: build or install hodoscope again", kPlugin));
  }
  std::string plugin = relay::escape_option(file) + ",socket=" + socket;
  for (const std::string& word : guest::watch_words(options.watch)) {
    plugin += "," + relay::escape_option(word);
  }
  LaunchSpec spec;
  spec.command = options.record.command;
  spec.command.insert(spec.command.begin() + 1, {"-plugin", plugin});
  spec.environment.emplace();
  for (char** variable = environ; *variable != nullptr; ++variable)
    spec.environment->emplace_back(*variable);
  spec.environment->push_back(std::string(relay::kKeyVariable) + "=" +
                              std::string(key.data(), key.size()));
  return spec;
}

perfdata::PtConfig make_vm_config(const RecordOptions& options) {
  perfdata::PtConfig config = make_pt_config(options);
  config.per_cpu = true;
  config.have_sched_switch = 2;  // SWITCH records say who runs
  return config;
}

std::vector<perfdata::Attr> make_attrs(const VmOptions& options, const perfdata::PtConfig& config) {
  std::vector<perfdata::Attr> attrs = perfdata::pt_attrs(config, options.kernel);
  if (options.user) return attrs;
  for (perfdata::Attr& attr : attrs) {
    attr.attr.exclude_user = 1;
    attr.name += attr.attr.type == config.pmu_type ? "k" : ":k";
  }
  return attrs;
}

std::string summary_json(const RecordResult& result) {
  return summary_line({{"source", "qemu-system"},
                       {"processes", result.processes},
                       {"threads", result.threads},
                       {"trace_bytes", result.trace_bytes},
                       {"overflows", result.overflows},
                       {"exit_status", result.exit_status},
                       {"unrecorded", result.unrecorded}});
}

}  // namespace

Result<VmResult> record_vm(const VmOptions& options,
                           const std::vector<std::string>& own_command_line) {
  const RecordOptions& record = options.record;
  if (const auto status = check(options); !status) return std::unexpected(status.error());
  auto command = find_command(record.command.front());
  if (!command) {
    Error error = command.error();
    if (error.code == ErrorCode::not_found)
      error.message += "; remedy: apt-get install qemu-system-x86";
    return std::unexpected(error);
  }
  relay::Settings settings;
  settings.rtit_ctl = rtit_ctl(record.pt);
  if (options.kernel) settings.rtit_ctl |= hw::rtit_ctl::kOs;
  if (!options.user) settings.rtit_ctl &= ~hw::rtit_ctl::kUser;
  settings.recorder_pid = getpid();
  const auto buffer = aux_size(record);
  if (!buffer) return std::unexpected(buffer.error());
  const auto key = make_key();
  if (!key) return std::unexpected(key.error());
  const std::string socket = socket_name();
  const auto spec = launch_spec(options, socket, *key);
  if (!spec) return std::unexpected(spec.error());
  const auto listening = relay::listen_socket(socket);
  if (!listening) return std::unexpected(listening.error());
  const Fd listener(*listening);
  perfdata::WriterOptions writer_options;
  writer_options.pt = make_vm_config(record);
  writer_options.attrs = make_attrs(options, writer_options.pt);
  writer_options.cmdline = own_command_line;
  writer_options.version = record.recorder;
  writer_options.clock = clock_data();
  const OutputGuard output(record.output);
  auto writer = perfdata::Writer::create(record.output, std::move(writer_options));
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  auto program = Program::prepare(*spec);
  const Status started = program ? (*program)->start() : std::unexpected(program.error());
  if (!started) {
    output.undo();
    return std::unexpected(started.error());
  }

  VmChannels channels(*writer, settings, *key, *buffer);
  ChannelLoop recording(record, **program, listener.get(), channels, *writer);
  recording.run();

  VmResult out;
  RecordResult& result = out.record;
  result.exit_status = (*program)->wait();
  channels.finish();
  channels.summarize(result);
  if (channels.none() && !(*program)->asked_to_end() && !channels.file_error()) {
    output.undo();
    return fail(ErrorCode::io,
                fmt::format("nothing was recorded: {} ended with status {} before hodo's plugin "
                            "reported; what it said is above; remedy, if it is about -plugin: a "
                            "qemu-system-x86_64 that was built with --enable-plugins, as Debian's",
                            record.command.front(), result.exit_status));
  }
  out.guest = channels.guest();
  recording.add_warnings(result);
  const Status finished = channels.file_error() ? Status() : writer->finish(summary_json(result));
  if (const Status& why =
          channels.file_error() ? std::unexpected(*channels.file_error()) : finished;
      !why) {
    result.warnings.push_back("the recording is not complete: " + why.error().message);
    result.complete = false;
  }
  if (result.processes == 0) {
    result.warnings.push_back(
        "nothing was recorded: no process that was asked for ran in user mode");
  }
  return out;
}

}  // namespace hodo::capture
