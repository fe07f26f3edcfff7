#include "channel_recording.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "channel_loop.h"
#include "hodo/capture/fd.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "run/output_guard.h"
#include "run/setting_up.h"
#include "run/summary.h"
#include "thread_channels.h"
#include "unit_settings.h"

namespace hodo::capture {
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
      file.trace = perfdata::TraceKind::branch_stacks;
      file.attrs = perfdata::stack_attrs(options.sample_period);
      return;
  }
}

std::string summary_json(const RecordResult& result, const ChannelRecording& what, bool snapshot) {
  nlohmann::ordered_json json = {
      {"source", what.source},
      {"unit", unit_name(what.settings.recording)},
      {"processes", result.processes},
      {"threads", result.threads},
      {"trace_bytes", result.trace_bytes},
      {"overflows", result.overflows},
      {"exit_status", result.exit_status},
  };
  if (snapshot) json["snapshot"] = true;
  if (result.cache.editions != 0) {
    json["cache"] = {{"code_bytes", result.cache.code},
                     {"made_bytes", result.cache.made},
                     {"most_bytes", result.cache.most},
                     {"editions", result.cache.editions}};
  }
  describe_trust_and_ends(json, result);
  return summary_line(json);
}

// Without the mark of a complete recording where data is missing, whoever's fault that is.
void finish_file(perfdata::Writer& writer, const std::optional<Error>& error,
                 const ChannelRecording& what, bool snapshot, RecordResult& result) {
  const Status finished = error ? Status() : writer.finish(summary_json(result, what, snapshot));
  if (error) {
    result.warnings.push_back("the recording ended early: " + error->message);
    result.complete = false;
  } else if (!finished) {
    result.warnings.push_back("the recording is not complete: " + finished.error().message);
    result.complete = false;
  }
}

Result<RecordResult> record_through_channels(const RecordOptions& options,
                                             const ChannelRecording& what,
                                             const std::vector<std::string>& own_command_line) {
  const auto buffer = aux_size(options);
  if (!buffer) return std::unexpected(buffer.error());
  const auto listening = relay::listen_socket(what.socket);
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
  auto program = Program::prepare(what.spec);
  if (program && what.new_programs != nullptr) {
    const pid_t child = (*program)->pid();
    what.new_programs->set_child(child);
    Fd none;
    if (!what.new_programs->hold(child, child, none, {})) {
      output.undo();
      return fail(ErrorCode::not_permitted,
                  "the program cannot be held with ptrace; remedy: allow it in this container or "
                  "by /proc/sys/kernel/yama/ptrace_scope, or take --source qemu");
    }
  }
  const Status started = program ? (*program)->start() : std::unexpected(program.error());
  if (!started) {
    output.undo();
    return std::unexpected(started.error());
  }

  ThreadChannels channels(*writer, what.settings, what.key, *buffer, options.snapshot);
  channels.set_new_programs(what.new_programs);
  ChannelLoop recording(options, **program, listener.get(), channels, *writer);
  recording.run();

  RecordResult result;
  result.exit_status = (*program)->wait();
  channels.keep_missing_files();
  channels.summarize(result);
  if (result.threads == 0 && !(*program)->asked_to_end() && !channels.file_error()) {
    output.undo();
    return fail(ErrorCode::io,
                fmt::format("nothing was recorded (exit status {}): {}", result.exit_status,
                            result.unrecorded.empty() ? what.silent : result.unrecorded.front()));
  }
  if (const auto status = (*program)->wait_status()) {
    add_command_end(result.ends, (*program)->pid(), options.command.front(), *status);
  }
  for (const std::string& who : recording.left_behind()) {
    result.unrecorded.push_back(
        who + " had not ended: what it did later was not recorded; --wait-all waits for it");
  }
  recording.add_warnings(result);
  finish_file(*writer, channels.file_error(), what, options.snapshot, result);
  return result;
}

}  // namespace hodo::capture
