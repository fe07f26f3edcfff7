// What is said of a recording that was still being made when it was opened.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hodo/session/session.h"

namespace hodo::view {

// "is still being recorded: this is of its first 3.1 s (12.0 MiB)"; empty where it is not.
std::string growing_text(const session::Session& session);

// {"bytes", "duration_ns"}: what there was of it; null where it is not being made.
nlohmann::ordered_json growing_json(const session::Session& session);

// That as the member "growing", where it is not null.
void add_growing(nlohmann::ordered_json& out, const session::Session& session);

}  // namespace hodo::view
