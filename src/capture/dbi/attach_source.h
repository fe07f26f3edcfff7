// Recording processes that run already, with the engine.
#pragma once

#include <string>
#include <vector>

#include "channel/channel_recording.h"
#include "engine_image.h"
#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// Attaches to options.pids, records until one of the ends that `hodo record -p` has, and lets go of
// them and of what they have started. Errors: of attach(), where one of them could not be attached
// to: then none of them is recorded; and those of the file.
Result<RecordResult> record_attached(const RecordOptions& options, const ChannelRecording& what,
                                     const EngineImage& engine, const relay::StartInfo& info,
                                     const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
