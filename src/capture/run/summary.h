// What a recorder says of its recording in the file (feature section 255, docs/file-format.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hodo/capture/options.h"

namespace hodo::capture {

// How the process `pid`, which hodo started and has waited for, ended: added to `ends`, or to what
// they know of it already.
void add_command_end(std::vector<ProcessEnd>& ends, std::int32_t pid, const std::string& name,
                     int wait_status);

// Members "unrecorded", "overwritten" and "ended" of the summary.
void describe_trust_and_ends(nlohmann::ordered_json& summary, const RecordResult& result);

// One line, whatever bytes names have.
std::string summary_line(const nlohmann::ordered_json& summary);

}  // namespace hodo::capture
