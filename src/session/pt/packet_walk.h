// All packets of a queue, one after the other.
#pragma once

#include "hodo/flow/decoder.h"
#include "hodo/flow/pieces.h"
#include "hodo/session/loss.h"
#include "hodo/session/session.h"

namespace hodo::session {

// Hands the packets of the stream to `sink` and counts them in `stats`. Bytes that are no packet
// are handed over as such up to the next PSB, and counted in `losses`. False if the sink wants no
// more.
bool walk_packets(flow::PieceSource& stream, const pt::Errata& errata, const Context& who,
                  PacketSink& sink, flow::Stats& stats, LossTally& losses);

}  // namespace hodo::session
