// Where a command writes that takes -o FILE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"

namespace hodo::cli {

// The file at `path`, new or emptied; none for an empty path and for "-", which stand for standard
// output. `inputs`: the files that are read, whatever they are called there. io: it cannot be
// written. usage: it is one of `inputs`, and still what it was.
Result<capture::Fd> open_output(const std::string& path,
                                const std::vector<std::string>& inputs = {});

// Whether a recording can go to `path`. usage: not to standard output, for which "-" stands.
Status check_recording_path(const std::string& path);

// The descriptor to write to.
int descriptor(const capture::Fd& file);

// Prints a text that is all of a command's output; its exit status, with a message if it could not
// be written.
int print_text(std::string_view text);

}  // namespace hodo::cli
