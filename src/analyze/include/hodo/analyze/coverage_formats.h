// Coverage in the formats of other tools.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "hodo/analyze/coverage.h"

namespace hodo::analyze {

enum class DrcovVersion : std::uint8_t { v2 = 2, v3 = 3 };

// A file of DynamoRIO's drcov client (ext/drcovlib/drcovlib.h and modules.c there): a table of
// modules as text, version 4 for v2 and 5 for v3, then 8 bytes per block: u32 offset from the
// module's base, u16 size, u16 module. Modules that are no file become one module for each 4 GiB of
// addresses, since offsets have 32 bits. Blocks behind the 65535th module are left out.
std::string drcov(const Coverage& coverage, DrcovVersion version);

// A tracefile of lcov (geninfo(1)), for genhtml: functions, branches and lines of every source file
// for which `wanted` is true of its path. Counts of modules that share a file add up.
std::string lcov(const Coverage& coverage, const std::function<bool(const std::string&)>& wanted);

// AFL-style: for each edge whose hash is a byte's index the counts are added to this byte, up to
// 255. Edges of code that is in no file count where flow::Bitmap counts them; those of files have
// the file's path in their hash. `map`: its size must be a power of two.
void add_to_bitmap(const Coverage& coverage, std::span<std::uint8_t> map);

}  // namespace hodo::analyze
