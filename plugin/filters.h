// The address filters of a recording (perf's "filter START/SIZE@OBJECT"), as guest addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/relay/protocol.h"
#include "mappings.h"

namespace hodo::plugin {

class Filters {
 public:
  // Takes the recorder's settings over; later calls change nothing.
  void configure(const relay::Settings& settings);
  // A file was mapped: filters on it get addresses.
  void add_mapping(const Mapping& mapping);
  // Is the instruction at this address left out of the trace?
  bool excluded(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t start = 0, size = 0;
  };
  bool active_ = false;
  std::vector<relay::Filter> objects_;
  std::vector<Range> ranges_;
};

}  // namespace hodo::plugin
