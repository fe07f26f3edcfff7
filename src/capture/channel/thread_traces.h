// The traces of threads on their way into the file: an AUX buffer of its own for each thread,
// through all its execs, or its branch stacks as samples. Of a snapshot, what is kept until it is
// written.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "aux_tail.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/protocol.h"
#include "rounds.h"

namespace hodo::capture {

struct ThreadTrace {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::uint32_t idx = 0;  // of its AUX buffer in the file
  AuxTail tail = {};
  std::uint64_t seen = 0;      // ns: by then all had run that was taken from the channel
  std::uint64_t left_out = 0;  // bytes that a snapshot has not kept, since the last one
};

class ThreadTraces {
 public:
  // `snapshot`: only the newest `most` bytes of each thread are kept, and of those that have ended
  // together as much. The others must outlive this.
  ThreadTraces(perfdata::Writer& writer, relay::Recording recording, std::uint64_t most,
               bool snapshot, Rounds& rounds)
      : writer_(writer), recording_(recording), most_(most), snapshot_(snapshot), rounds_(rounds) {}

  bool of_stacks() const { return recording_ == relay::Recording::lbr; }
  bool keeps() const { return snapshot_; }

  // `left_out`: of the thread's trace, after what is there of it, an unknown part is missing.
  ThreadTrace begin(std::int32_t pid, std::int32_t tid, bool left_out = false);
  // The next bytes, whole packets, records or samples, go into the file, or are kept.
  Status take(ThreadTrace& trace, std::span<const std::uint8_t> bytes);
  // Nothing more will come. What is kept of it may have to go.
  void end(ThreadTrace trace);
  // What is kept goes into the file: of a thread that runs; of those that have ended.
  Status write_kept(ThreadTrace& trace);
  Status write_ended();

  // Samples were written since this was asked last.
  bool take_sampled() { return std::exchange(sampled_, false); }
  // Where in its AUX buffer the thread's next byte will be.
  std::uint64_t offset_of(std::int32_t tid) const;
  std::uint64_t bytes() const { return bytes_; }  // of all of them
  std::size_t threads() const { return streams_.size(); }

 private:
  struct Stream {
    std::uint32_t idx = 0;
    std::uint64_t offset = 0;
  };
  using Pieces = std::span<const std::span<const std::uint8_t>>;

  Status write(ThreadTrace& trace, Pieces pieces);
  Status write_handovers(ThreadTrace& trace, std::uint64_t offset, std::uint64_t size);
  Status write_stacks(const ThreadTrace& trace, std::span<const std::uint8_t> bytes);

  perfdata::Writer& writer_;
  relay::Recording recording_;
  std::uint64_t most_;
  bool snapshot_;
  Rounds& rounds_;
  std::map<std::int32_t, Stream> streams_;  // by tid
  std::deque<ThreadTrace> ended_;           // snapshots: the newest last
  std::uint64_t ended_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  bool sampled_ = false;
};

}  // namespace hodo::capture
