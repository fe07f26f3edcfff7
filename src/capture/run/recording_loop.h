// What recordings under QEMU have in common, of a program or of a virtual machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/protocol.h"
#include "launch.h"

namespace hodo::capture {

// The plugin's file: in the build tree next to this program, installed in the library folder. Empty
// if there is none.
std::string find_plugin(const std::string& name);
// The clock of all records, and what wall clock it means.
perfdata::ClockData clock_data();
// A name for an abstract socket that nobody else takes. It is no secret: /proc/net/unix has it.
std::string socket_name();
// What the traced processes show there. Errors: io (the kernel has no random bytes).
Result<relay::Key> make_key();
// Bytes of an AUX ring: a power of two. Errors: usage (more than a ring may have).
Result<std::uint64_t> aux_size(const RecordOptions& options);

// Where the data of a recording comes together.
class ChannelSet {
 public:
  virtual ~ChannelSet() = default;
  // Answers all who have asked for a channel at the socket.
  virtual void accept(int listening_socket) = 0;
  // Moves what there is to the file: everything with `all`, else where it is worth it.
  virtual void drain(bool all) = 0;
  // The last drain moved so much that the next one should not wait.
  virtual bool busy() const { return false; }
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

// The loop of a recording, and the states it goes through: running, stopping (the user or a limit
// has ended the recording; the program may go on), over.
class RecordingLoop {
 public:
  // All must outlive the loop.
  RecordingLoop(const RecordOptions& options, Program& program, int socket, ChannelSet& channels,
                perfdata::Writer& writer)
      : options_(options),
        program_(program),
        socket_(socket),
        channels_(channels),
        writer_(writer) {}

  // Returns when the program has ended; with wait_all: all that it started, unless a signal asked
  // the program to end.
  void run();
  // What a user has to know of the end.
  void add_warnings(RecordResult& result) const;
  // What ran on without being recorded, in words (ChannelSet::running).
  const std::vector<std::string>& left_behind() const { return left_behind_; }

 private:
  bool over();
  void wait();
  void handle_program();
  void handle_end_request();
  void check_limits();
  void flush_if_due();

  const RecordOptions& options_;
  Program& program_;
  int socket_;
  ChannelSet& channels_;
  perfdata::Writer& writer_;
  bool interrupted_ = false;
  bool full_ = false;
  std::uint64_t program_ended_ = 0;  // when that was noticed; 0: it runs
  bool ended_ = false;
  std::vector<std::string> left_behind_;
  std::uint64_t last_flush_ = 0;
};

}  // namespace hodo::capture
