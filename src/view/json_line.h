// JSON on one line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hodo::view {

// What is not UTF-8 becomes U+FFFD; only ASCII is written.
inline std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hodo::view
