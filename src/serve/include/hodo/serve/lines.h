// Messages in JSON, one on each line.
#pragma once

#include <cstdint>

#include "hodo/base/result.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

// What messages say.
enum class Speech : std::uint8_t {
  rpc,  // the methods themselves, and notifications of progress
  mcp   // the Model Context Protocol (mcp.h)
};

// Answers what comes from the descriptor `in` on `out`, until that ends. Questions are answered in
// their order; those that need no recording (progress) at once. A longer line than kLongestMessage
// is answered with an error, and read over. Errors: io, of either descriptor; that the other side
// has gone is none.
Status answer_lines(Workspace& workspace, int in, int out, Speech speech = Speech::rpc);

}  // namespace hodo::serve
