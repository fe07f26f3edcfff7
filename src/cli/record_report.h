// What `hodo record` says when the program has ended.
#pragma once

#include "hodo/capture/options.h"
#include "record_options.h"

namespace hodo::cli {

// On standard error, which leaves standard output to the program.
void print_outcome(const RecordCommand& command, const capture::RecordOptions& options,
                   const capture::RecordResult& result);

}  // namespace hodo::cli
