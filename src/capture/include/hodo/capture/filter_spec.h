// What a user writes behind --filter.
#pragma once

#include <string_view>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// One of
//   0x401000-0x402000      addresses, the second not included
//   SYMBOL@FILE            a function of an ELF file
//   OFFSET/SIZE@FILE       bytes of a file, as in perf
//   @FILE                  all of a file
// FILE is made absolute. Errors: usage (none of these; an empty range), not_found (file or symbol),
// and what reading the file gives.
Result<FilterRange> parse_filter(std::string_view spec);

}  // namespace hodo::capture
