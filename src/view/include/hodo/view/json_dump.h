// JSON as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hodo/view/text.h"

namespace hodo::view {

// Of `value`, which may have names of any bytes: what is not UTF-8 becomes \xNN, by which it can be
// asked for as by what other outputs say (written_bytes). `indent`: -1 for one line. `ascii`: only
// ASCII is written.
template <class Json>
std::string json_dump(const Json& value, int indent, bool ascii = true) {
  try {
    return value.dump(indent, ' ', ascii);
  } catch (const typename Json::type_error&) {
    Json valid = value;
    std::vector<Json*> open{&valid};
    while (!open.empty()) {
      Json& here = *open.back();
      open.pop_back();
      if (here.is_string()) here = utf8(here.template get_ref<const std::string&>());
      if (!here.is_structured()) continue;
      for (Json& member : here) open.push_back(&member);
    }
    return valid.dump(indent, ' ', ascii, Json::error_handler_t::replace);  // names of members
  }
}

}  // namespace hodo::view
