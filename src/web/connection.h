// One connection of a browser.
#pragma once

#include <atomic>

#include "gate.h"

namespace hodo::web {

// Answers request after request until the other side, a time-out or a mistake ends it. `socket`
// stays the caller's. `known` becomes true once a request came with the key.
void serve_connection(const Site& site, int socket, std::atomic<bool>& known);

}  // namespace hodo::web
