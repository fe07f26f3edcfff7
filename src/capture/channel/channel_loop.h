// The recording of a program that hands over through channels: running, stopping (the user or a
// limit has ended the recording; the program may go on), over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "channel_set.h"
#include "run/recording_loop.h"

namespace hodo::capture {

class ChannelLoop final : private Recorder {
 public:
  // All must outlive the loop.
  ChannelLoop(const RecordOptions& options, Program& program, int socket, ChannelSet& channels,
              perfdata::Writer& writer)
      : options_(options),
        program_(program),
        socket_(socket),
        channels_(channels),
        loop_(options, *this, writer) {}

  // Returns when the program has ended; with wait_all: all that it started, unless a signal asked
  // the program to end.
  void run();
  // What a user has to know of the end.
  void add_warnings(RecordResult& result) const;
  // What ran on without being recorded, in words (ChannelSet::running).
  const std::vector<std::string>& left_behind() const { return left_behind_; }

 private:
  bool over() override;
  Status wait() override;
  ProgramEvents take_events() override;
  Status drain() override;
  void snapshot() override { channels_.snapshot(); }
  bool stop() override;
  Status flush() override;
  void heed_end_request();

  const RecordOptions& options_;
  Program& program_;
  int socket_;
  ChannelSet& channels_;
  RecordingLoop loop_;
  std::uint64_t program_ended_ = 0;  // when that was noticed; 0: it runs
  bool ended_ = false;               // at somebody's request
  std::vector<std::string> left_behind_;
};

}  // namespace hodo::capture
