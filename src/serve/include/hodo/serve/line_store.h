// Source positions, kept in the user's cache.
#pragma once

#include <memory>

#include "hodo/symbol/line_store.h"

namespace hodo::serve {

// In ~/.cache/hodoscope/lines, by the rules of text::ModuleCache, which is opened at the first
// question; where it cannot be, nothing is kept.
std::shared_ptr<symbol::LineStore> line_store_of_user();

}  // namespace hodo::serve
