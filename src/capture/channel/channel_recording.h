// Recording a program whose trace units hand over through channels, whatever runs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/protocol.h"
#include "new_programs.h"
#include "run/launch.h"

namespace hodo::capture {

struct ChannelRecording {
  std::string_view source;  // for the file: "qemu", "dbi"
  relay::Settings settings;
  relay::Key key{};
  std::string socket;
  LaunchSpec spec;
  NewPrograms* new_programs = nullptr;  // of the engine; outlives the recording
  std::string silent;                   // what to say when nothing has asked for a channel
};

// What the file says of the trace in it, and of the recording.
void describe_trace(const RecordOptions& options, perfdata::WriterOptions& file);
std::string summary_json(const RecordResult& result, const ChannelRecording& what, bool snapshot);
// Ends the file; in `result` is what it says.
void finish_file(perfdata::Writer& writer, const std::optional<Error>& error,
                 const ChannelRecording& what, bool snapshot, RecordResult& result);

// Runs the program and writes its file. Errors: as record_with_qemu().
Result<RecordResult> record_through_channels(const RecordOptions& options,
                                             const ChannelRecording& what,
                                             const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
