// What text.changed says of a place where another instruction ran than the file has.
#pragma once

#include <cstdint>
#include <string_view>

#include "edge_end.h"
#include "edge_rules.h"

namespace hodo::check {

// `address` lies in the image of the file that `end` lies in, which is known(); both instructions
// as text. All that differs in one function is one cause.
Verdict changed_text(const End& end, std::uint64_t address, std::string_view ran,
                     std::string_view file);

}  // namespace hodo::check
