// The address filters of a recording (perf's "filter START/SIZE@OBJECT"), as the program's
// addresses. All of these need the lock.
#pragma once

#include <cstdint>
#include <string_view>

#include "hodo/relay/protocol.h"
#include "mappings.h"

namespace hodo::engine {

void configure_filters(const relay::Settings& settings);
// A file is mapped there from now on, or nothing any more.
void filter_mapping(const Mapping& mapping, std::string_view path);
void filter_nothing(std::uint64_t start, std::uint64_t end);
// Is the instruction at this address left out of the trace?
bool is_excluded(std::uint64_t address);

}  // namespace hodo::engine
