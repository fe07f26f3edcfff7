// Where a thread's packets go while there is no recorder: a ring, and a file if one was asked for.
#pragma once

#include <cstdint>

#include "hodo/unit/pt_unit.h"

namespace hodo::engine {

struct Output {
  long file = -1;
  std::uint64_t drained = 0;
  std::uint8_t* ring = nullptr;  // mapped twice in a row
};

// `path` may be empty: what the ring had is thrown away. A thread that is not the first writes to
// PATH.TID. `output` has to stay where it is.
unit::PtOutput open_output(Output& output, const char* path, long tid);
// Writes all up to `written` to the file.
void drain_output(Output& output, std::uint64_t written);
// Drains, and gives back what the thread had.
void close_output(Output& output, std::uint64_t written);

}  // namespace hodo::engine
