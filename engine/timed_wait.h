// Waits of the engine's own that end by themselves.
#pragma once

#include <time.h>

#include <cstdint>

namespace hodo::engine {

// While the word is `value`: until it is woken, or `most` is over. 0 or -errno, as `how`, which is
// FUTEX_WAIT or FUTEX_WAIT_PRIVATE.
long wait_on_word(const std::uint32_t* word, std::uint32_t value, int how, const timespec& most);
// Or until a signal comes.
void sleep_for(const timespec& time);

}  // namespace hodo::engine
