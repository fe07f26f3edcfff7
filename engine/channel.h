// Connects the engine to its recorder: hodo/relay/channel.h without the C library.
#pragma once

#include <optional>

#include "hodo/relay/channel.h"

namespace hodo::engine {

// A connection to the recorder on which the key has been shown, which exec closes; negative: no
// recorder is there.
long connect_recorder();
// Says hello, closes the connection and maps the channel that comes back.
std::optional<relay::ChannelWriter> open_channel(long connection, const relay::Hello& hello);

// In a forked child, where its memory does not exist.
void forget_channel(relay::ChannelWriter& channel);

}  // namespace hodo::engine
