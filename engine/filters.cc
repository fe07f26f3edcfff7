#include "filters.h"

#include <algorithm>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

struct FilterRange {
  std::uint64_t start, end;
};

// Linux lets a process have half as many mappings as there is room for.
constexpr std::size_t kMostRanges = relay::kMaxFilters << 17;
relay::Filter* filters = nullptr;
std::size_t filter_count = 0;
FilterRange* ranges = nullptr;
std::size_t range_count = 0;

void add(std::uint64_t start, std::uint64_t end) {
  if (range_count == kMostRanges) die("too many mappings of files that are filtered", range_count);
  ranges[range_count++] = {start, end};
}

}  // namespace

void configure_filters(const relay::Settings& settings) {
  filter_count = std::min<std::size_t>(settings.filters, relay::kMaxFilters);
  if (filter_count == 0) return;
  filters = static_cast<relay::Filter*>(map_memory(filter_count * sizeof(relay::Filter)));
  ranges = static_cast<FilterRange*>(map_memory(kMostRanges * sizeof(FilterRange)));
  std::copy_n(settings.filter.begin(), filter_count, filters);
}

void filter_mapping(const Mapping& mapping, std::string_view path) {
  filter_nothing(mapping.start, mapping.end);
  const std::uint64_t behind = mapping.offset + (mapping.end - mapping.start);
  for (std::size_t i = 0; i < filter_count; ++i) {
    const relay::Filter& filter = filters[i];
    if (filter.object[0] == 0 || path != filter.object.data()) continue;
    const std::uint64_t from = std::max(filter.start, mapping.offset);
    const std::uint64_t to = std::min(filter.start + filter.size, behind);
    const std::uint64_t base = mapping.start - mapping.offset;
    if (from < to) add(base + from, base + to);
  }
}

void filter_nothing(std::uint64_t start, std::uint64_t end) {
  for (std::size_t i = range_count; i-- > 0;) {
    const FilterRange one = ranges[i];
    if (one.end <= start || one.start >= end) continue;
    ranges[i] = ranges[--range_count];
    if (one.start < start) add(one.start, start);
    if (one.end > end) add(end, one.end);
  }
}

bool is_excluded(std::uint64_t address) {
  if (filter_count == 0) return false;
  const bool by_address = std::any_of(filters, filters + filter_count, [&](const auto& filter) {
    return filter.object[0] == 0 && address - filter.start < filter.size;
  });
  return !by_address && std::none_of(ranges, ranges + range_count, [&](const FilterRange& one) {
    return address - one.start < one.end - one.start;
  });
}

}  // namespace hodo::engine
