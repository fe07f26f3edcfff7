// One connection of a browser.
#pragma once

#include "gate.h"

namespace hodo::web {

// Answers request after request until the other side, a time-out or a mistake ends it. `socket`
// stays the caller's.
void serve_connection(const Site& site, int socket);

}  // namespace hodo::web
