#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "hodo/symbol/jit.h"

namespace hodo::symbol {
namespace {

// Takes a hexadecimal number and the blank behind it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return value;
}

std::optional<JitFunction> read_line(std::string_view line) {
  const auto address = take_number(line);
  const auto size = address ? take_number(line) : std::nullopt;
  if (!size || *size == 0 || *size - 1 > ~*address || line.empty()) return std::nullopt;
  return JitFunction{.address = *address, .size = *size, .name = std::string(line)};
}

}  // namespace

std::vector<JitFunction> read_perf_map(std::span<const std::uint8_t> text) {
  std::string_view rest(reinterpret_cast<const char*>(text.data()), text.size());
  std::vector<JitFunction> functions;
  while (!rest.empty() && functions.size() < kMostJitFunctions) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (auto function = read_line(line)) functions.push_back(*std::move(function));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return functions;
}

}  // namespace hodo::symbol
