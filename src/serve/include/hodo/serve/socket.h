// JSON-RPC by lines for several at once, over a Unix socket.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

// Makes the socket `path`, which nobody but this user can connect to, and answers all who come
// until a signal SIGINT or SIGTERM arrives or `until` can be read (-1: none); then removes it. At
// most kMostConnections at once: others are closed. A socket that a server left behind is replaced.
// Errors: usage for a path that is too long or something else than a socket; io; not_permitted; a
// server that is there already.
inline constexpr std::size_t kMostConnections = 16;
Status answer_socket(Workspace& workspace, const std::string& path, int until = -1);

}  // namespace hodo::serve
