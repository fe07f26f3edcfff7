// Who runs in a virtual machine, as text and as JSON (hodo vm ps).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hodo/guest/survey.h"
#include "hodo/view/style.h"

namespace hodo::view {

std::string survey_text(const guest::Survey& survey, const Style& style);
// {"system", "processors", "looks", "kernel_base", "isolated", "cross_checked", "processes":
// [{"pid", "ppid", "name", "executable", "cr3", "hidden", "user_looks", "kernel_looks", "threads":
// [{"tid", "name"}]}], "address_spaces": [{"cr3", "user_looks", "kernel_looks", "ip", "code":
// [{"start", "end"}]}]}. Of a guest whose system is not known, what names its kernel and the
// processes are missing; address_spaces has only those that belong to no process.
nlohmann::ordered_json survey_json(const guest::Survey& survey);

}  // namespace hodo::view
