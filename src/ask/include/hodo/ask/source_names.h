// How source files are called, so that other builds have them, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hodo::ask {

// Of a module's source files: builds in other folders have them, too, so no more of their paths
// than tells each from the others.
std::vector<std::string_view> source_names(const std::vector<std::string>& files);

}  // namespace hodo::ask
