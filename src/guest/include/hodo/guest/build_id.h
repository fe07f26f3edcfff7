// Which build of a file a guest process has mapped.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/guest/mappings.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

// The build-id of the 64-bit ELF file that `mapping` shows, from the note in the process's own
// memory (`process`: its address space, `mappings`: all of them). At most 20 bytes; empty: no ELF
// file, no build-id, or its pages are not in memory.
std::vector<std::uint8_t> read_build_id(const VirtualMemory& process,
                                        const std::vector<GuestMapping>& mappings,
                                        const GuestMapping& mapping);

}  // namespace hodo::guest
