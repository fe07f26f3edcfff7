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

}  // namespace

std::span<const CoverageFormat> coverage_formats() { return kCoverage; }
std::span<const FindingsFormat> findings_formats() { return kFindings; }
std::span<const GraphFormat> graph_formats() { return kGraphs; }

}  // namespace hodo::exports
