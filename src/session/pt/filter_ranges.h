// The address filters of a recording as addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/perfdata/model.h"

namespace hodo::session {

// One "filter START[/SIZE][@FILE]" (Documentation of perf record --filter; the kernel's
// perf_event_parse_addr_filter). Filters that start or stop tracing are not among them.
struct AddressFilter {
  std::uint64_t start = 0;  // an offset in `file`, or an address where that is empty
  std::uint64_t size = 0;
  std::string file;
};

// The "filter" entries of the string; entries that cannot be understood are left out.
std::vector<AddressFilter> parse_filters(std::string_view text);

// Where the filters lay in a process with these mappings.
std::vector<flow::IpRange> filter_ranges(const std::vector<AddressFilter>& filters,
                                         const std::vector<perfdata::Mapping>& mappings,
                                         const std::vector<perfdata::File>& files);

}  // namespace hodo::session
