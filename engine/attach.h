// A process that runs already. The recorder (Attachment in src/capture/dbi) holds all of its
// threads with ptrace, maps the engine and has one thread make ready for all: engine_attach. Each
// then begins where it stood: engine_begin_attached, on the stack of its area.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// While it is made ready nothing of the program has been touched: tells the recorder why it cannot
// be. Returns if it is not about that.
void fail_to_attach(const char* text, std::uint64_t value);

// rseq(2) of the program. Kernels restart critical sections at their addresses in the program, not
// in the cache, so none is registered there. A C library that has once registered one insists on
// it, however: for a process that was attached to, registrations are remembered until it is let go.
long rseq_call(ThreadArea& area);

extern "C" {
// Ends at glue_stopped. RAX: 0, or why not, a text, and RDX a number for it.
void engine_attach();
[[noreturn]] void engine_begin_attached(ThreadArea* area);
// A breakpoint that the recorder waits for, and what is behind it.
void glue_stop();
void glue_stopped();
}

}  // namespace hodo::engine
