// System calls that block other signals than the thread does for as long as they last.
#pragma once

#include <cstdint>
#include <optional>

#include "thread_area.h"

namespace hodo::engine {

// What the call that the thread's registers ask for blocks meanwhile (set_user_sigmask() in the
// kernel's kernel/signal.c); nothing: what the thread blocks.
std::optional<std::uint64_t> mask_of_call(const ThreadArea& area);

}  // namespace hodo::engine
