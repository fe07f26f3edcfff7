// What a traced process asks the kernel for while it waits for its recorder.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hodo::relay {

// Sleeps while the word, in shared memory, is `value`: up to `ms`, or until it is woken.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned ms);
// What its /proc/PID/stat says, as far as `text` takes it; empty: there is no /proc here. None: no
// process has this number.
std::optional<std::string_view> stat_of(std::int32_t pid, std::span<char> text);

}  // namespace hodo::relay
