// All lines of a file, as they are kept in a LineStore: unpacking DWARF takes longer than reading
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "debug_file.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// A table, whose rows are by address, as bytes, and from bytes that anybody may have made up:
// nullopt if it cannot be that.
std::vector<std::uint8_t> write_line_table(const LineTable& table);
std::optional<LineTable> read_line_table(std::span<const std::uint8_t> bytes);

// That which is kept for the files that `key` tells, else what `find` gives, which is kept then
// unless it is empty or very large.
LineTable kept_line_table(LineStore& store, const std::function<FilesKey()>& key,
                          const std::function<LineTable()>& find);

}  // namespace hodo::symbol
