// The summary of `hodo coverage`.
#pragma once

#include <cstddef>
#include <string>

#include "hodo/analyze/coverage.h"
#include "hodo/view/output.h"
#include "hodo/view/style.h"

namespace hodo::view {

// Modules, then the functions that ran, `top` of them by blocks (0: all), a line each.
std::string coverage_text(const analyze::Coverage& coverage, std::size_t top, const Style& style);

// One JSON object with everything that was counted; written piece by piece.
void write_coverage_json(const analyze::Coverage& coverage, const session::Session& session,
                         const session::Outcome& outcome, Output& out);

}  // namespace hodo::view
