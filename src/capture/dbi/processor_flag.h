// What /proc/cpuinfo says of the processor.
#pragma once

#include <string_view>

namespace hodo::capture {

bool processor_has(std::string_view flag);
// LOOP takes AMD's processors, and Hygon's, one operation. No other maker's have SSE4A.
inline bool loop_is_fast() { return processor_has("sse4a"); }

// The kernel lets programs use protection keys: CR4.PKE.
inline bool has_protection_keys() { return processor_has("ospke"); }

}  // namespace hodo::capture
