// Which processes a recording has, and the address spaces in which they ran (hodo vm ps FILE).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hodo/analyze/process_spaces.h"
#include "hodo/session/facts.h"
#include "hodo/view/style.h"

namespace hodo::view {

std::string recorded_processes_text(const session::Facts& facts,
                                    const analyze::ProcessSpaces& spaces, const Style& style);
// {"processes": [{"pid", "ppid", "name", "cr3": [HEX], "branches", "threads": [{"tid",
// "name"}]}]}
nlohmann::ordered_json recorded_processes_json(const session::Facts& facts,
                                               const analyze::ProcessSpaces& spaces);

}  // namespace hodo::view
