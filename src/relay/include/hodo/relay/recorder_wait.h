// What a traced process asks the kernel for while it waits for its recorder.
#pragma once

#include <atomic>
#include <cstdint>

namespace hodo::relay {

// Sleeps while the word, in shared memory, is `value`: up to `ms`, or until it is woken.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned ms);
// A zombie is as dead as can be, but its pid is still taken.
bool is_alive(std::int32_t pid);

}  // namespace hodo::relay
