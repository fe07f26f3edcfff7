// Holds a call tree for which the decoder followed calls against one for which each branch came.
#pragma once

#include <string>

#include "hodo/session/session.h"

namespace hodo {

// Builds both; empty if they are the same, otherwise what differs. `threads` as
// session::DecodeOptions has it, for the first one.
std::string difference_in_call_tree(session::Session& session, unsigned threads);

}  // namespace hodo
