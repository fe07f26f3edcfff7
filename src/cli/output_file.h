// Where a command writes that takes -o FILE.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"

namespace hodo::cli {

// The file at `path`, new or emptied; none for an empty path and for "-", which stand for standard
// output. io: it cannot be written.
Result<capture::Fd> open_output(const std::string& path);

// Whether a recording can go to `path`. usage: not to standard output, for which "-" stands.
Status check_recording_path(const std::string& path);

// The descriptor to write to.
int descriptor(const capture::Fd& file);

}  // namespace hodo::cli
