#include <algorithm>
#include <string_view>

#include "hodo/analyze/coverage_formats.h"
#include "hodo/flow/coverage.h"

namespace hodo::analyze {
namespace {

// FNV-1a, so that maps of different runs and machines compare.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

void add_to_bitmap(const Coverage& coverage, std::span<std::uint8_t> map) {
  auto place = [&](std::uint32_t module, std::uint64_t address) {
    const CoveredModule& m = coverage.modules[module];
    return m.file ? address ^ hash(m.path) : address;
  };
  for (std::uint32_t i = 0; i < coverage.modules.size(); ++i) {
    for (const CoveredEdge& e : coverage.modules[i].edges) {
      std::uint64_t from = place(i, e.from);
      std::uint64_t to = place(e.to_module, e.to);
      std::uint8_t& count = map[flow::Bitmap::index(from, to, map.size())];
      count = static_cast<std::uint8_t>(
          std::min<std::uint64_t>(255, count + std::min<std::uint64_t>(e.count, 255)));
    }
  }
}

}  // namespace hodo::analyze
