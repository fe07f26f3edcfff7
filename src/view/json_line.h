// JSON on one line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hodo/view/json_dump.h"

namespace hodo::view {

inline std::string json_line(const nlohmann::ordered_json& value) { return json_dump(value, -1); }

}  // namespace hodo::view
