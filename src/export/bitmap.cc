#include <algorithm>
#include <string_view>

#include "hodo/flow/coverage.h"
#include "writers.h"

namespace hodo::exports {
namespace {

// FNV-1a, so that maps of different runs and machines compare.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

std::string bitmap(const analyze::Coverage& coverage, const CoverageOptions& options) {
  std::string map(options.map_size, '\0');
  auto place = [&](std::uint32_t module, std::uint64_t address) {
    const analyze::CoveredModule& m = coverage.modules[module];
    return m.file ? address ^ hash(m.path) : address;
  };
  for (std::uint32_t i = 0; i < coverage.modules.size(); ++i) {
    for (const analyze::CoveredEdge& e : coverage.modules[i].edges) {
      std::uint64_t from = place(i, e.from);
      std::uint64_t to = place(e.to_module, e.to);
      char& count = map[flow::Bitmap::index(from, to, map.size())];
      const std::uint64_t sum =
          std::min<std::uint64_t>(e.count, 255) + static_cast<std::uint8_t>(count);
      count = static_cast<char>(std::min<std::uint64_t>(255, sum));
    }
  }
  return map;
}

}  // namespace hodo::exports
