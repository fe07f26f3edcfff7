// What the tables of formats.cc are made of.
#pragma once

#include <string>
#include <string_view>

#include "hodo/export/formats.h"

namespace hodo::exports {

// A file of DynamoRIO's drcov client (ext/drcovlib/drcovlib.h and modules.c there): a table of
// modules as text, version 4 for drcov2 and 5 for drcov3, then 8 bytes per block: u32 offset from
// the module's base, u16 size, u16 module. Modules that are no file become one module for each 4
// GiB of addresses, since offsets have 32 bits. Blocks behind the 65535th module are left out.
std::string drcov2(const analyze::Coverage& coverage, const CoverageOptions& options);
std::string drcov3(const analyze::Coverage& coverage, const CoverageOptions& options);

// A tracefile of lcov (geninfo(1)), for genhtml: functions, branches and lines of source files.
// Counts of modules that share a file add up.
std::string lcov(const analyze::Coverage& coverage, const CoverageOptions& options);

// AFL-style: for each edge whose hash is a byte's index the counts are added to this byte, up to
// 255. Edges of code that is in no file count where flow::Bitmap counts them; those of files have
// the file's path in their hash.
std::string bitmap(const analyze::Coverage& coverage, const CoverageOptions& options);

// A SARIF 2.1.0 log of one run. Addresses of 2^53 and more, which its readers cannot hold, are only
// in text.
std::string sarif(const view::Checked& checked, const session::Session& session,
                  std::string_view version);

// In Graphviz's DOT language: a box for each block with its instructions and how often it ran,
// yellow if it did. Edges that were executed are drawn with their counts, the others dotted. Names
// are made harmless.
std::string dot(const analyze::FlowGraph& graph, const session::Session& session);

}  // namespace hodo::exports
