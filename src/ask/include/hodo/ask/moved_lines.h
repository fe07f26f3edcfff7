// Lines of a source that was changed between two builds: those behind the change have other
// numbers.
#pragma once

#include <set>
#include <string>

#include "hodo/analyze/coverage.h"

namespace hodo::ask {

// Gives the lines of `b` the numbers that they have in `a`, where functions that are compiled alike
// (base_name() of their demangled names) begin in other lines; leaves out, of both, lines that the
// change itself may have made. Only in sources most of whose functions are alike: compilers differ
// in where a function begins. Gives the functions of which executed lines are left out.
std::set<std::string> align_lines(analyze::CoveredModule& a, analyze::CoveredModule& b,
                                  const std::set<std::string>& alike);

}  // namespace hodo::ask
