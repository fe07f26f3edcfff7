#include "hodo/ask/source_names.h"

#include <cstdint>
#include <map>
#include <set>

namespace hodo::ask {
namespace {

// The last components of a path, so many of them.
std::string_view end_of(std::string_view path, std::size_t components) {
  std::size_t slash = path.size();
  for (; components > 0 && slash != path.npos && slash != 0; --components) {
    slash = path.rfind('/', slash - 1);
  }
  return components > 0 || slash == path.npos || slash == path.size() ? path
                                                                      : path.substr(slash + 1);
}

}  // namespace

std::vector<std::string_view> source_names(const std::vector<std::string>& files) {
  constexpr std::size_t kMostComponents = 16;
  std::vector<std::string_view> out(files.size());
  std::set<std::string_view> left(files.begin(), files.end());
  for (std::size_t components = 1; !left.empty(); ++components) {
    std::map<std::string_view, std::uint32_t> named;
    for (const std::string_view path : left) ++named[end_of(path, components)];
    const bool last = components == kMostComponents;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!out[i].empty() || files[i].empty()) continue;
      const std::string_view name = last ? files[i] : end_of(files[i], components);
      if (last || named[name] == 1) out[i] = name;
    }
    std::erase_if(left, [&](std::string_view path) {
      return last || path.empty() || named[end_of(path, components)] == 1;
    });
  }
  return out;
}

}  // namespace hodo::ask
