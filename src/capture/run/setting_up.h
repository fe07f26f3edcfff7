// What recorders need before they begin.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/protocol.h"

namespace hodo::capture {

// The plugin's file: in the build tree next to this program, installed in the library folder. Empty
// if there is none.
std::string find_plugin(const std::string& name);
// The clock of all records, and what wall clock it means.
perfdata::ClockData clock_data();
// A name for an abstract socket that nobody else takes. It is no secret: /proc/net/unix has it.
std::string socket_name();
// What the traced processes show there. Errors: io (the kernel has no random bytes).
Result<relay::Key> make_key();
// Bytes of an AUX ring: a power of two. Errors: usage (more than a ring may have).
Result<std::uint64_t> aux_size(const RecordOptions& options);

}  // namespace hodo::capture
