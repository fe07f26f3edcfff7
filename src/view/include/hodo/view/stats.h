// The counts of `hodo stats`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hodo/session/session.h"
#include "hodo/view/style.h"

namespace hodo::view {

// Instructions, branches by kind, packets by kind, events, losses of a decoded session.
std::string stats_text(const session::Session& session, const session::Outcome& outcome,
                       const Style& style);
nlohmann::ordered_json stats_json(const session::Session& session, const session::Outcome& outcome);

// The packets by kind alone, with their bytes.
std::string packet_counts_text(const flow::Stats& stats, const Style& style);

// Branches that were taken, all kinds; begin, end and lost are none.
std::uint64_t taken_branches(const flow::Stats& stats);

}  // namespace hodo::view
