// Holds an index whose calls the decoder followed against one for which each call came by itself.
#pragma once

#include <cstddef>
#include <string>

#include "hodo/session/session.h"

namespace hodo {

// Builds both; empty if they are the same, otherwise what differs. `threads` as
// session::DecodeOptions has it, for the first one.
std::string difference_one_by_one(session::Session& session, std::size_t spacing, unsigned threads);

}  // namespace hodo
