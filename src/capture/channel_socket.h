// How a channel comes about: whoever is traced connects, and gets a memory file.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"
#include "hodo/relay/channel.h"

namespace hodo::capture {

struct NewChannel {
  relay::Hello hello;
  relay::ChannelMemory memory;
  Fd socket, file;
  // Hands the memory over; the other end waits for it. Without, it goes on unrecorded.
  void answer() const;
};

// Takes one connection. Nullopt: it is not of this user, or speaks another protocol. Errors: io.
Result<std::optional<NewChannel>> accept_channel(int listening_socket,
                                                 const relay::Settings& settings,
                                                 std::uint64_t aux_size);

}  // namespace hodo::capture
