#include "hodo/export/formats.h"

#include <array>

#include "writers.h"

namespace hodo::exports {
namespace {

constexpr std::array kCoverage = {
    CoverageFormat{.name = "drcov", .write = drcov3},
    CoverageFormat{.name = "drcov2", .write = drcov2},
    CoverageFormat{.name = "lcov", .lines = true, .write = lcov},
    CoverageFormat{.name = "bitmap", .numbers = true, .write = bitmap},
};
constexpr std::array kFindings = {FindingsFormat{.name = "sarif", .write = sarif}};
constexpr std::array kGraphs = {GraphFormat{.name = "cfg-dot", .write = dot}};
constexpr std::array kTimelines = {
    TimelineFormat{.name = "perfetto", .make = perfetto},
    TimelineFormat{.name = "firefox", .make = firefox},
    TimelineFormat{.name = "speedscope", .make = speedscope},
};
constexpr std::array kTrees = {TreeFormat{.name = "flame-svg", .write = flame_svg}};
constexpr std::array kJumps = {
    JumpsFormat{.name = "bolt", .write = bolt},
    JumpsFormat{.name = "autofdo", .write = autofdo},
    JumpsFormat{.name = "llvm-profgen", .write = llvm_profgen},
};

}  // namespace

std::span<const CoverageFormat> coverage_formats() { return kCoverage; }
std::span<const FindingsFormat> findings_formats() { return kFindings; }
std::span<const GraphFormat> graph_formats() { return kGraphs; }
std::span<const TimelineFormat> timeline_formats() { return kTimelines; }
std::span<const TreeFormat> tree_formats() { return kTrees; }
std::span<const JumpsFormat> jumps_formats() { return kJumps; }

}  // namespace hodo::exports
