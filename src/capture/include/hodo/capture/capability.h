// What this process may do beyond what every user may (capabilities(7)).
#pragma once

namespace hodo::capture {

// In force now, by number (linux/capability.h); false also where /proc does not tell.
bool has_capability(int bit);
// Is exempt from perf_event_paranoid (kernel: perfmon_capable).
bool is_perfmon_capable();

}  // namespace hodo::capture
