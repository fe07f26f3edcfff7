// What was lost, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "hodo/session/clock.h"
#include "hodo/session/loss.h"
#include "hodo/view/style.h"

namespace hodo::view {

// A paragraph per cause: how often, how many bytes, the first place, and what to do. "Nothing was
// lost." where the span is empty.
std::string losses_text(std::span<const session::LossLine> losses, session::Clock clock,
                        const Style& style);

// [{"cause", "count", "bytes", "remedy", "sites": [{"queue", "offset", "ip", "time", "reason"}]}];
// of a site what is known.
nlohmann::ordered_json losses_json(std::span<const session::LossLine> losses, session::Clock clock);

// JSON as the commands print it: indented, ASCII only, with a newline at the end. Bytes that are no
// UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace hodo::view
