#include "hodo/view/source_text.h"

#include <fstream>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{16} << 20;

}  // namespace

std::map<std::uint32_t, std::string> read_source(const std::string& path, std::uint32_t first,
                                                 std::uint32_t last) {
  std::map<std::uint32_t, std::string> out;
  std::ifstream file(path);
  std::string text;
  std::uintmax_t read = 0;
  for (std::uint32_t line = 1; line <= last && std::getline(file, text); ++line) {
    read += text.size();
    if (read > kLargestFile) break;
    if (line >= first) out[line] = fit(printable(text), kLongestLine);
  }
  return out;
}

}  // namespace hodo::view
