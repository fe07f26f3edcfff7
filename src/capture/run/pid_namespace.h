// Processes in another PID namespace call themselves by other numbers than ours.
#pragma once

#include <sys/types.h>

#include "hodo/relay/protocol.h"

namespace hodo::capture {

// The hello with the numbers that this process knows the sender by. `sender`: who sent it, as the
// kernel says (unix(7), SCM_CREDENTIALS), `connected`: who made the connection, which for a child
// is its parent. Of a sender in our namespace, or one that is gone, it stays as it is.
relay::Hello in_our_namespace(relay::Hello hello, pid_t sender, pid_t connected);

// The process of the thread that `sender` calls so; 0: there is none.
pid_t process_of(pid_t thread, pid_t sender);

}  // namespace hodo::capture
