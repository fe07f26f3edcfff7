// Pictures of graphs, drawn by Graphviz's program `dot`.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/view/output.h"

namespace hodo::serve {

// Writes `dot`, a graph in the DOT language, as SVG to `out`, which says what becomes of that.
// not_found: there is no `dot`; io: it failed.
Status write_svg(const std::string& dot, view::Output& out);
// The same as a string; io also for one that takes longer than `seconds`.
Result<std::string> svg_of(const std::string& dot, unsigned seconds);

}  // namespace hodo::serve
