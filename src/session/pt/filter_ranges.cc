#include "filter_ranges.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace hodo::session {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<AddressFilter> parse_one(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.starts_with("filter ")) return std::nullopt;
  text.remove_prefix(7);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  AddressFilter out;
  if (std::size_t at = text.find('@'); at != std::string_view::npos) {
    out.file = text.substr(at + 1);
    text = text.substr(0, at);
  }
  std::size_t slash = text.find('/');
  auto start = number(text.substr(0, slash));
  if (!start) return std::nullopt;
  out.start = *start;
  out.size = 1;
  if (slash != std::string_view::npos) {
    auto size = number(text.substr(slash + 1));
    if (!size || *size == 0) return std::nullopt;
    out.size = *size;
  }
  return out;
}

// The part of `filter` that `m` has mapped, as addresses.
std::optional<flow::IpRange> mapped(const AddressFilter& filter, const perfdata::Mapping& m) {
  if (m.size == 0) return std::nullopt;
  std::uint64_t last = filter.start + std::min(filter.size - 1, ~std::uint64_t{0} - filter.start);
  std::uint64_t map_last = m.file_offset + std::min(m.size - 1, ~std::uint64_t{0} - m.file_offset);
  if (last < m.file_offset || filter.start > map_last) return std::nullopt;
  std::uint64_t lo = std::max(filter.start, m.file_offset);
  std::uint64_t hi = std::min(last, map_last);
  return flow::IpRange{m.address + (lo - m.file_offset), m.address + (hi - m.file_offset)};
}

bool same(const flow::IpRange& a, const flow::IpRange& b) { return a.lo == b.lo && a.hi == b.hi; }

}  // namespace

std::vector<AddressFilter> parse_filters(std::string_view text) {
  std::vector<AddressFilter> out;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(','), text.size());
    if (auto filter = parse_one(text.substr(0, end))) out.push_back(std::move(*filter));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<flow::IpRange> filter_ranges(const std::vector<AddressFilter>& filters,
                                         const std::vector<perfdata::Mapping>& mappings,
                                         const std::vector<perfdata::File>& files) {
  std::vector<flow::IpRange> out;
  auto add = [&](const flow::IpRange& range) {
    if (std::ranges::none_of(out, [&](auto& known) { return same(known, range); })) {
      out.push_back(range);
    }
  };
  for (const AddressFilter& filter : filters) {
    if (filter.file.empty()) {
      add({filter.start,
           filter.start + std::min(filter.size - 1, ~std::uint64_t{0} - filter.start)});
      continue;
    }
    for (const perfdata::Mapping& m : mappings) {
      if (m.file == perfdata::kNone || files[m.file].path != filter.file) continue;
      if (auto range = mapped(filter, m)) add(*range);
    }
  }
  return out;
}

}  // namespace hodo::session
