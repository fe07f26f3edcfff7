// How a process ended that is not this one's child.
#pragma once

#include <cstdint>
#include <optional>

namespace hodo::capture {

// As waitpid() would have it, of a process that has ended, by its pidfd and number. nullopt: its
// parent has been told already and the kernel keeps no record of it (before Linux 6.15), or it has
// not ended.
std::optional<int> wait_status(int pidfd, std::int32_t pid);

}  // namespace hodo::capture
