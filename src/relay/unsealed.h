// What a killed process had not handed over yet (Unsealed in protocol.h).
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/relay/protocol.h"

namespace hodo::relay {

// The whole packets that lie there behind the first `written` bytes of the stream. Whatever the
// memory holds, these are bytes that a decoder can read as packets.
std::vector<std::uint8_t> packets_behind(const Unsealed& memory, std::uint64_t written);

}  // namespace hodo::relay
