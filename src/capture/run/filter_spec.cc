#include "hodo/capture/filter_spec.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <climits>
#include <cstdlib>

#include "hodo/symbol/symbol_table.h"

namespace hodo::capture {
namespace {

bool parse_number(std::string_view text, std::uint64_t& value) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "A<separator>B", both numbers.
bool parse_pair(std::string_view text, char separator, std::uint64_t& a, std::uint64_t& b) {
  const auto at = text.find(separator);
  return at != text.npos && parse_number(text.substr(0, at), a) &&
         parse_number(text.substr(at + 1), b);
}

std::unexpected<Error> bad(std::string_view spec, std::string_view why) {
  return fail(ErrorCode::usage, fmt::format("--filter {}: {}", spec, why));
}

// Every function of that name would need a range of its own; the address ranges are few, so the
// name has to be one function's.
Status find_symbol(std::string_view name, FilterRange& range) {
  const auto table = symbol::SymbolTable::open(range.object);
  if (!table) return std::unexpected(table.error());
  const auto found = (*table)->named(name);
  if (found.empty()) return fail(ErrorCode::not_found, fmt::format("no symbol {}", name));
  if (found.size() > 1 && found.front().start != found.back().start) {
    return fail(
        ErrorCode::usage,
        fmt::format("{} functions are called {}; give the one's OFFSET/SIZE", found.size(), name));
  }
  const auto offset = (*table)->elf().offset_of(found.front().start);
  if (!offset) return fail(ErrorCode::not_found, fmt::format("{} is not in the file", name));
  range.start = *offset;
  range.size = found.front().size;
  return {};
}

Result<FilterRange> in_file(std::string_view spec, std::string_view what, const std::string& name) {
  FilterRange range;
  char path[PATH_MAX];
  struct stat st{};
  if (realpath(name.c_str(), path) == nullptr || stat(path, &st) != 0) {
    return fail(ErrorCode::not_found, fmt::format("--filter {}: no file {}", spec, name));
  }
  range.object = path;
  if (what.empty()) {
    range.size = static_cast<std::uint64_t>(st.st_size);
  } else if (!parse_pair(what, '/', range.start, range.size)) {
    const Status found = find_symbol(what, range);
    if (!found)
      return fail(found.error().code, fmt::format("--filter {}: {}", spec, found.error().message));
  }
  return range;
}

}  // namespace

Result<FilterRange> parse_filter(std::string_view spec) {
  Result<FilterRange> range;
  const auto at = spec.rfind('@');
  if (at != spec.npos) {
    range = in_file(spec, spec.substr(0, at), std::string(spec.substr(at + 1)));
  } else {
    std::uint64_t end = 0;
    if (!parse_pair(spec, '-', range->start, end)) {
      return bad(spec, "write START-END, SYMBOL@FILE, OFFSET/SIZE@FILE or @FILE");
    }
    range->size = end > range->start ? end - range->start : 0;
  }
  if (range && range->size == 0) return bad(spec, "the range is empty");
  return range;
}

}  // namespace hodo::capture
