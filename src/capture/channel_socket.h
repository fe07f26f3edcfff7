// How channels come about: whoever is traced connects, says hello, and gets a memory file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

// The connections to a recording's socket. A process connects before it forks, for its child: who
// has connected and said nothing yet is a child that has not begun, or it is gone and is forgotten.
class Connections {
 public:
  // `settings` must outlive it; `aux_size` is a power of two and at least a page.
  Connections(const relay::Settings& settings, std::uint64_t aux_size)
      : settings_(settings), aux_size_(aux_size) {}

  // The next channel that is asked for; nullopt: none is, now. Connections of other users, and of
  // other protocols, are dropped. `listening_socket` does not block. Errors: io.
  Result<std::optional<NewChannel>> next(int listening_socket);
  // All that are asked for now, one after the other.
  Status each(int listening_socket, const std::function<void(NewChannel)>& take);
  // Those that have said nothing yet, as of the last next().
  const std::vector<Fd>& silent() const { return silent_; }

 private:
  void accept_all(int listening_socket);
  Result<NewChannel> open_channel(const relay::Hello& hello, Fd socket) const;

  const relay::Settings& settings_;
  std::uint64_t aux_size_;
  std::vector<Fd> silent_;
};

}  // namespace hodo::capture
