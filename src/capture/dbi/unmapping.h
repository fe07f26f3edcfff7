// The last steps of a thread on its way out of the engine.
#pragma once

#include <sys/types.h>

#include "engine_image.h"

namespace hodo::capture {

// The thread unmaps all of the engine but its image. Its registers are not restored. False: it has
// ended.
bool unmap_tables(pid_t tid, const EngineImage& engine);

// From a stop at a system call to one from which the kernel goes on to restart a call that the
// registers say was interrupted. False: it has ended.
bool settle(pid_t tid);

}  // namespace hodo::capture
