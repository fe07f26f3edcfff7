// Where the data of a recording through channels comes together.
#pragma once

#include <poll.h>
#include <time.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drain_pace.h"
#include "hodo/base/result.h"

namespace hodo::capture {

class ChannelSet {
 public:
  virtual ~ChannelSet() = default;
  // Answers all who have asked for a channel at the socket.
  virtual void accept(int listening_socket) = 0;
  // Moves what there is to the file: everything with `all`, else where it is worth it.
  virtual void drain(bool all) = 0;
  // What was moved is in the file, where others may read it, with all that it takes to decode it.
  virtual void flush() = 0;
  // How long a thread's packets may lie before they are looked at, unless a descriptor wakes us.
  virtual DrainPace::Wait patience() const { return DrainPace::kMost; }
  // Waits for that: until then or until one of these is ready.
  void wait(std::span<pollfd> fds) const {
    const auto most = std::chrono::nanoseconds(patience());
    const timespec timeout{.tv_sec = most.count() / 1'000'000'000,
                           .tv_nsec = most.count() % 1'000'000'000};
    ppoll(fds.data(), fds.size(), &timeout, nullptr);
  }
  // Of a recording that keeps only the newest part of the trace: writes what is kept.
  virtual void snapshot() {}
  // Nothing more shall be written; the program goes on.
  virtual void stop() = 0;
  // Kills the recorded processes; what they wrote is still read.
  virtual void kill() {}
  // Descriptors that become readable when a traced process ends or asks for a channel.
  virtual std::vector<int> wake_fds() const = 0;
  // The recorded processes that have not ended, in words; empty behind stop(). A process that has
  // ended has left none behind that accept() would not find.
  virtual std::vector<std::string> running() const { return {}; }
  // Set once the file could take no more.
  virtual const std::optional<Error>& file_error() const = 0;
};

}  // namespace hodo::capture
