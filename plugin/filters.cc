#include "filters.h"

#include <algorithm>

namespace hodo::plugin {

void Filters::configure(const relay::Settings& settings) {
  if (active_) return;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(settings.filters, relay::kMaxFilters);
       ++i) {
    const relay::Filter& filter = settings.filter[i];
    active_ = true;
    if (filter.object[0] == '\0') {
      ranges_.push_back({filter.start, filter.size});
    } else {
      objects_.push_back(filter);
    }
  }
}

void Filters::add_mapping(const Mapping& mapping) {
  for (const relay::Filter& filter : objects_) {
    if (mapping.path != filter.object.data()) continue;
    const std::uint64_t from = std::max(filter.start, mapping.where.offset);
    const std::uint64_t to =
        std::min(filter.start + filter.size, mapping.where.offset + mapping.where.length);
    if (from < to)
      ranges_.push_back({mapping.where.start + (from - mapping.where.offset), to - from});
  }
}

bool Filters::excluded(std::uint64_t address) const {
  return active_ && std::none_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
           return address - range.start < range.size;
         });
}

}  // namespace hodo::plugin
