// What a killed process had not handed over yet (Unsealed in protocol.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/relay/protocol.h"

namespace hodo::relay {

// How many bytes of these packets are left without a PSB+ at their end whose PSBEND is missing: its
// FUP would be, too, which says that tracing is off there.
std::size_t without_cut_psb(std::span<const std::uint8_t> packets);
// The whole packets that lie there behind the first `written` bytes of the stream, without a PSB+
// that is cut off. Whatever the memory holds, these are bytes that a decoder can read as packets.
std::vector<std::uint8_t> packets_behind(const Unsealed& memory, std::uint64_t written);

}  // namespace hodo::relay
