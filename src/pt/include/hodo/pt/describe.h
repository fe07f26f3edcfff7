// Packets as text for people.
#pragma once

#include <string>

#include "hodo/pt/packet.h"

namespace hodo::pt {

// One line, as `perf script -D` of Linux 6.1 words it, so that the two listings can be compared:
// "TNT TNNT (4)", "TIP 0x4014a0", "TIP.PGD no ip", "TMA CTC 0x2 FC 0x1f". IPs are shown as sent,
// not rebuilt. TRIG, which perf does not know, follows the same style.
std::string to_string(const Packet& packet);

}  // namespace hodo::pt
