// The call trees of `hodo calls`.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/analyze/call_tree.h"
#include "hodo/session/session.h"
#include "hodo/view/output.h"
#include "hodo/view/style.h"

namespace hodo::view {

enum class CallWeight : std::uint8_t { instructions, time };

struct CallsOptions {
  CallWeight by = CallWeight::instructions;  // what shares and the order go by
  double min_percent = 0;                    // of the thread: paths below are left out
  std::uint32_t depth = ~std::uint32_t{0};   // deeper frames are left out, or count for this deep
};

// A tree per thread, the costliest path first.
std::string calls_text(const analyze::CallTree& tree, const session::Session& session,
                       const CallsOptions& options, const Style& style);
// One JSON object: functions, and for each thread its paths, parents before children. Written piece
// by piece: a tree may have a million paths.
void write_calls_json(const analyze::CallTree& tree, const session::Session& session,
                      const session::Outcome& outcome, const CallsOptions& options, Output& out);
// "thread;function;function weight", a line for each path that has any itself: what flamegraph.pl
// reads.
void write_calls_folded(const analyze::CallTree& tree, const session::Session& session,
                        const CallsOptions& options, Output& out);

}  // namespace hodo::view
