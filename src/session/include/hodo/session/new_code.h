// Code that a program made or changed while it ran: the recording holds it.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/session/session.h"

namespace hodo::session {

// Code of a process as it was from a time on.
struct NewCode {
  std::int32_t pid = -1;
  std::uint64_t address = 0, size = 0;
  std::uint64_t time = 0;  // perf's clock, nanoseconds
};

// Of all processes, by time, with what was there before their first branch; not the kernel's. Empty
// for inputs that hold no code.
std::vector<NewCode> new_code_of(const Session& session);

}  // namespace hodo::session
