// What --help prints.
#pragma once

#include <string>

#include "model.h"

namespace hodo::cli {

// The help of a command, at most 80 columns wide.
std::string help_text(const CommandModel& command);

}  // namespace hodo::cli
