// The name of a thread, as it was last called.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/session/session.h"

namespace hodo::view {

// Raw; empty where it is unknown.
std::string task_name(const session::Session& session, std::int32_t pid, std::int32_t tid);

}  // namespace hodo::view
