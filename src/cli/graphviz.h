// Pictures of graphs, drawn by Graphviz's program `dot`.
#pragma once

#include <string>

#include "hodo/base/result.h"

namespace hodo::cli {

// Writes `dot`, a graph in the DOT language, as SVG to the file descriptor `fd`. not_found: there
// is no `dot`; io: it failed.
Status write_svg(const std::string& dot, int fd);

}  // namespace hodo::cli
