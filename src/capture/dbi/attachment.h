// Processes that run already: how the engine comes into them, and out again.
#pragma once

#include <sys/types.h>

#include <span>

#include "engine_image.h"
#include "hodo/base/result.h"
#include "hodo/relay/engine_start.h"
#include "tracee.h"

namespace hodo::capture {

// What can be said before it is touched. Errors: not_found (no such process, or it has ended),
// usage (a thread's number, hodo itself), not_permitted (somebody traces it, its filter of system
// calls), unsupported (a kernel thread, a 32-bit program).
Status check_attachable(pid_t pid);

// Puts the engine into the process and lets all of its threads go on in it. Of `recorded` threads
// the packets are kept; empty: of all. `meanwhile` has to answer at the socket that `info` names:
// each of these threads waits there for its channel before it goes on. How many those are.
// Errors, after which the process runs as it did: not_found (it has ended), not_permitted,
// unsupported, io.
Result<std::size_t> attach(const EngineImage& engine, const relay::StartInfo& info,
                           const relay::Settings& settings, pid_t pid,
                           std::span<const pid_t> recorded, const Meanwhile& meanwhile);

// Lets go of a process that runs in the engine with this key: afterwards it runs as it would
// without, and nothing of the engine is in it. One that has ended, or executes another program by
// then, is let go. `meanwhile` has to answer at the socket, and to take what threads hand over.
// Errors: io (not now, a thread did not stop).
Status release(const EngineImage& engine, const relay::Key& key, pid_t pid,
               const Meanwhile& meanwhile);

}  // namespace hodo::capture
