#include "hodo/capture/dbi_source.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string_view>

#include "attach_source.h"
#include "channel/channel_recording.h"
#include "channel/unit_settings.h"
#include "engine_image.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/relay/exec_plan.h"
#include "processor_flag.h"
#include "run/launch.h"
#include "run/setting_up.h"
#include "takeover.h"
#include "tsc_clock.h"

namespace hodo::capture {
namespace {

Status check_program(const RecordOptions& options) {
  const auto path = find_command(options.command.front());
  if (!path) return std::unexpected(path.error());
  const auto executable = relay::inspect(*path, options.command);
  if (!executable) return std::unexpected(executable.error());
  using Kind = relay::Executable::Kind;
  switch (executable->kind) {
    case Kind::foreign:
      return fail(ErrorCode::unsupported, *path + ": " + executable->obstacle);
    case Kind::i386:
      return fail(ErrorCode::unsupported, *path + ": a 32-bit program; remedy: --source " +
                                              (find_qemu() ? "qemu" : "step") + " records these");
    case Kind::not_binary:
      return fail(
          ErrorCode::unsupported,
          *path + ": neither a program nor a script with a \"#!\" line; record its interpreter");
    case Kind::x86_64:
      return {};
  }
  std::unreachable();
}

relay::StartInfo start_info(const ChannelRecording& recording, std::uint64_t cache_size) {
  relay::StartInfo info;
  info.key = recording.key;
  info.cache_bytes = cache_size;
  info.loop_is_fast = loop_is_fast();
  info.has_keys = has_protection_keys();
  std::copy_n(recording.socket.begin(), std::min(recording.socket.size(), info.socket.size() - 1),
              info.socket.begin());
  if (has_steady_tsc()) info.clock = measure_tsc();
  return info;
}

}  // namespace

Result<std::string> find_engine() {
  std::string engine = find_plugin("hodo-engine");
  if (engine.empty()) {
    return fail(ErrorCode::unsupported,
                "hodo-engine is missing; remedy: build or install hodoscope again");
  }
  if (!processor_has("sse4_2")) {
    return fail(ErrorCode::unsupported, "the engine needs a processor with SSE 4.2");
  }
  if (const Status holds = check_holding(); !holds) return std::unexpected(holds.error());
  return engine;
}

Status dbi_can(const RecordOptions& options) {
  const auto cannot = [](std::string_view what, std::string_view remedy) {
    return fail(ErrorCode::usage, fmt::format("{}; remedy: {}", what, remedy));
  };
  if (options.level != Level::user) {
    return cannot("--level: the engine runs in the program alone",
                  "the processor's own trace (--source pt, bts or lbr)");
  }
  if (!options.pt.branch)
    return cannot("branch=0: the engine always writes branches", "leave it out");
  if (!options.debug_log.empty()) {
    return cannot("--debug-log: the watcher is a plugin of QEMU", "--source qemu");
  }
  return {};
}

Result<RecordResult> record_with_engine(const RecordOptions& options, const std::string& engine,
                                        const std::vector<std::string>& own_command_line) {
  if (const Status can = dbi_can(options); !can) return std::unexpected(can.error());
  if (options.pids.empty()) {
    if (const Status program = check_program(options); !program) {
      return std::unexpected(program.error());
    }
  }
  const auto image = EngineImage::load(engine);
  if (!image) return std::unexpected(image.error());
  ChannelRecording recording;
  recording.source = "dbi";
  auto settings = make_settings(options, {});
  if (!settings) return std::unexpected(settings.error());
  recording.settings = *settings;
  const auto key = make_key();
  if (!key) return std::unexpected(key.error());
  recording.key = *key;
  recording.socket = socket_name();
  recording.spec.command = options.command;
  recording.spec.snapshot_signal = options.snapshot;
  recording.silent = "the engine did not report from the program";
  const relay::StartInfo info = start_info(recording, options.cache_size);
  Takeovers takeovers(*image, info, options.threads);
  recording.new_programs = &takeovers;
  if (!options.pids.empty()) {
    return record_attached(options, recording, *image, info, own_command_line);
  }
  return record_through_channels(options, recording, own_command_line);
}

}  // namespace hodo::capture
