// What is marked on a thread's timeline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "overview.h"

namespace hodo::serve {

struct ShownMark {
  Place at;
  std::string_view
      kind;  // "lost", "signal", "exec", "sample", "fork", "code", "snapshot", "finding", "end"
  std::string text;
  std::string moment;  // there, or shortly before it
};

struct Marks {
  std::vector<ShownMark> list;
  std::uint64_t left_out = 0;  // that there are besides
};

// All of a lane, each kind in order: what its path says, findings once they are known, the
// process's end, and what the recording says of its process beside the path: processes that it
// started, code that it made, and that only the newest part was kept. Of these the times alone are
// known: where that is among the instructions, the lane's slices say, about.
Marks marks_of(Workspace& workspace, const Lane& lane);

}  // namespace hodo::serve
