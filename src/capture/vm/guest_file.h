// A file that a guest process has mapped, as a recording has it.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/guest/mappings.h"
#include "hodo/perfdata/writer.h"

namespace hodo::capture {

// An MMAP2 record of process stamp.pid. Without a build-id nothing tells the guest's file from one
// of this machine with the same path: then the name is one that cannot be opened here.
Status write_guest_file(perfdata::Writer& writer, const guest::GuestMapping& mapping,
                        std::span<const std::uint8_t> build_id, const perfdata::Stamp& stamp);

}  // namespace hodo::capture
