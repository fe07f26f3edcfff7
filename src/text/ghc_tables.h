// Entries of functions that GHC's info tables tell of: code that takes all arguments from the stack
// and goes on to the function, of which the file holds no more than a distance in front of the
// function's own code.
//
// Source: GHC's rts/include/rts/storage/InfoTables.h, StgFunInfoTable with TABLES_NEXT_TO_CODE, and
// ClosureTypes.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text_map.h"

namespace hodo::text {

// Of the functions that begin at `entries`, in 64-bit code; by address, each once.
std::vector<std::uint64_t> slow_entries(std::span<const std::uint64_t> entries,
                                        const TextMap& text);

}  // namespace hodo::text
