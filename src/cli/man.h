// Manual pages.
#pragma once

#include <string>
#include <string_view>

#include "model.h"

namespace hodo::cli {

// A page of section 1 in roff (man macros). Contains no date, so that builds are reproducible.
std::string man_page(const CommandModel& command, std::string_view version);

}  // namespace hodo::cli
