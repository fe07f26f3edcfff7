// The stretches of a perf.data file's AUX buffers: their bytes in the file and in their streams, cut
// where data was lost.
#pragma once

#include <vector>

#include "hodo/perfdata/model.h"
#include "pt/queue_bytes.h"

namespace hodo::session {

// Whether data is missing behind `event`, in the queue's stream.
bool truncates(const perfdata::AuxEvent& event);

// All of a queue, as the file has it.
std::vector<Part> written_parts(const perfdata::AuxQueue& queue);

}  // namespace hodo::session
