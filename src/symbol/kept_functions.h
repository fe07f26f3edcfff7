// The functions that were found in the code of a stripped file, as they are kept in a LineStore:
// finding them takes a pass over all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "debug_file.h"
#include "hodo/symbol/line_store.h"
#include "synthetic_functions.h"

namespace hodo::symbol {

// What find_functions() gave, as bytes, and from bytes that anybody may have made up: nullopt if it
// cannot be that.
std::vector<std::uint8_t> write_functions(std::span<const SyntheticFunction> functions);
std::optional<std::vector<SyntheticFunction>> read_functions(std::span<const std::uint8_t> bytes);

// Those that are kept for the files that `key` tells, else what `find` gives, which is kept then.
std::vector<SyntheticFunction> kept_functions(
    LineStore& store, const std::function<FilesKey()>& key,
    const std::function<std::vector<SyntheticFunction>()>& find);

}  // namespace hodo::symbol
