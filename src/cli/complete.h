// Completion scripts for shells.
#pragma once

#include <string>

#include "model.h"

namespace hodo::cli {

// Each takes the model of the whole program. Words from the definitions only contain characters
// that need no quoting in a shell; descriptions are quoted.
std::string bash_completion(const CommandModel& program);
std::string zsh_completion(const CommandModel& program);
std::string fish_completion(const CommandModel& program);

}  // namespace hodo::cli
