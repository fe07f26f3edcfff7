// The stretches of a perf.data file's AUX buffers: their bytes in the file and in their streams,
// cut where data was lost, or is not what was recorded.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "hodo/perfdata/model.h"
#include "hodo/perfdata/sums.h"
#include "trace_reader.h"

namespace hodo::session {

// Whether data is missing behind `event`, in the queue's stream.
bool truncates(const perfdata::AuxEvent& event);

// All of a queue, as the file has it.
std::vector<Part> written_parts(const perfdata::AuxQueue& queue);
// The same without these stretches of its pieces, by their numbers.
std::vector<Part> parts_without(
    const perfdata::AuxQueue& queue,
    const std::map<std::size_t, std::vector<perfdata::Stretch>>& altered);

}  // namespace hodo::session
