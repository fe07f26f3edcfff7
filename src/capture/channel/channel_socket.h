// How channels come about: whoever is traced connects, says hello, and gets a memory file.
#pragma once

#include <cstddef>
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
  Fd given;  // with Start::copies
  // As the kernel says: who sent the hello, and who made the connection. 0: nobody that is seen
  // here.
  std::int32_t sender = 0, connected = 0;
  // Hands the memory over; the other end waits for it. Without, it goes on unrecorded.
  void answer() const;
  // To what waits only until something is done.
  void say_done() const;
  // To Start::mappings: those of the process that sent this, if it can be told which that is.
  void answer_with_mappings() const;
  // To Start::page.
  void answer_of_page() const;
};

// The connections to a recording's socket, whose name everybody can read in /proc/net/unix. Other
// users are turned away, except by root's recorder, whose program may become another user: there
// they have to show the key (relay::Key), soon, and few may wait meanwhile. So must the user's own
// processes, of which the recorded program may make many.
//
// A process connects before it forks, for its child: who has shown the key and said nothing yet is
// a child that has not begun, or it is gone and is forgotten. Who comes by another's connection
// (relay::Line) has shown it.
class Connections {
 public:
  static constexpr std::size_t kMostUnproven = 64;           // of all other users together
  static constexpr std::size_t kMostOwnUnproven = 256;       // of the recorder's and of root
  static constexpr std::uint64_t kPatience = 1'000'000'000;  // ns, for the key

  // `settings` must outlive it; `aux_size` is a power of two and at least a page.
  Connections(const relay::Settings& settings, const relay::Key& key, std::uint64_t aux_size)
      : settings_(settings), key_(key), aux_size_(aux_size) {}

  // The next channel that is asked for; nullopt: none is, now. Connections of strangers, and of
  // other protocols, are dropped. `listening_socket` does not block. Errors: io.
  Result<std::optional<NewChannel>> next(int listening_socket);
  // All that are asked for now, one after the other.
  Status each(int listening_socket, const std::function<void(NewChannel)>& take);
  // Those that have shown the key and said nothing yet, as of the last next().
  const std::vector<Fd>& silent() const { return silent_; }
  // Of these and of lines, where more may come.
  std::vector<int> wake_fds() const;
  std::size_t unproven() const { return unproven_.size(); }

 private:
  struct Unproven {
    Fd socket;
    bool stranger = false;    // of another user
    std::uint64_t since = 0;  // ns
  };

  void accept_some(int listening_socket);
  void admit(Fd socket);
  void look_for_keys();
  void accept_by_lines();
  std::size_t waiting(bool strangers) const;
  Result<NewChannel> open_channel(const relay::Hello& hello, std::int32_t sender, Fd socket) const;

  const relay::Settings& settings_;
  const relay::Key key_;
  std::uint64_t aux_size_;
  std::vector<Unproven> unproven_;
  std::vector<Fd> silent_;
  std::vector<Fd> lines_;  // relay::Start::line
};

}  // namespace hodo::capture
