// Where the data of a recording through channels comes together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::capture {

class ChannelSet {
 public:
  virtual ~ChannelSet() = default;
  // Answers all who have asked for a channel at the socket.
  virtual void accept(int listening_socket) = 0;
  // Moves what there is to the file: everything with `all`, else where it is worth it.
  virtual void drain(bool all) = 0;
  // The last drain moved so much that the next one should not wait.
  virtual bool busy() const { return false; }
  // How long a thread's packets may lie before they are looked at, unless a descriptor wakes us:
  // ms, for poll().
  int patience() const { return busy() ? 0 : 4; }
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
