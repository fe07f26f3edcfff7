// What the tables of formats.cc are made of.
#pragma once

#include <memory>
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
// are made harmless, and long ones are cut: the whole name is the tooltip then.
std::string dot(const analyze::FlowGraph& graph, const session::Session& session,
                NeverRun never_run);

// The Trace Event Format (JSON, "B" and "E" events), which Perfetto and chrome://tracing open. By
// time in microseconds; by instructions one of them stands for a microsecond.
std::unique_ptr<TimelineWriter> perfetto(const session::Session& session,
                                         const TimelineOptions& options, view::Output& out);
// An evented profile of each thread, for https://www.speedscope.app (file-format-schema.json
// there).
std::unique_ptr<TimelineWriter> speedscope(const session::Session& session,
                                           const TimelineOptions& options, view::Output& out);
// The processed format of the Firefox Profiler, version 48 (src/types/profile.js there): a sample,
// as long as it lasted, wherever the open calls change. By instructions one of them stands for a
// nanosecond.
std::unique_ptr<TimelineWriter> firefox(const session::Session& session,
                                        const TimelineOptions& options, view::Output& out);

// A flame graph: one picture (SVG) that needs nothing else, threads side by side at the bottom,
// callees above their callers, as wide as what they cost; the rest is in the title of each box.
void flame_svg(const analyze::CallTree& tree, const session::Session& session,
               const view::CallsOptions& options, view::Output& out);

// BOLT's pre-aggregated branches (DataAggregator.h there), for `perf2bolt -pa`: "B" a branch, "F" a
// straight line; "X:0" is outside of the file.
void bolt(const analyze::FileJumps& file, view::Output& out);
// What AutoFDO's `create_llvm_prof --profiler=text` reads (sample_reader.h there): straight lines,
// no addresses, branches.
void autofdo(const analyze::FileJumps& file, view::Output& out);
// The same for `llvm-profgen --use-offset=0 --unsymbolized-profile` (PerfReader.h there).
void llvm_profgen(const analyze::FileJumps& file, view::Output& out);

}  // namespace hodo::exports
