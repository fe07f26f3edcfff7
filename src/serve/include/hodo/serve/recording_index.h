// The index of a recording, kept from one command to the next.
#pragma once

#include <memory>

#include "hodo/ask/index.h"

namespace hodo::serve {

// From the user's cache, else built and put there. Null where there is none: the recording is short
// (a decoding takes no time), or of another kind, or could not be decoded.
std::unique_ptr<ask::IndexedRecording> index_of(session::Session& session,
                                                const session::ProgressFunction& progress);

}  // namespace hodo::serve
