// The channels of all traced threads, and their way into the file.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "aux_tail.h"
#include "channel_set.h"
#include "channel_socket.h"
#include "held_files.h"
#include "hodo/capture/fd.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/protocol.h"
#include "new_programs.h"
#include "rounds.h"

namespace hodo::capture {

class ThreadChannels final : public ChannelSet {
 public:
  // `snapshot`: only the newest `aux_size` bytes of each thread are kept, and of those that have
  // ended together as much, until snapshot() writes them.
  ThreadChannels(perfdata::Writer& writer, const relay::Settings& settings, const relay::Key& key,
                 std::uint64_t aux_size, bool snapshot)
      : writer_(writer),
        settings_(settings),
        aux_size_(aux_size),
        snapshot_(snapshot),
        connections_(settings, key, aux_size) {}

  // Who asks to be taken over at an exec is given to these.
  void set_new_programs(NewPrograms* programs) { new_programs_ = programs; }
  void accept(int listening_socket) override;

  // Moves what the channels hold to the file: everything with `all`, else where enough has come
  // together. Channels whose process is gone, or that are closed, are finished and forgotten. The
  // first error of the file ends the recording (see stop); later calls do nothing.
  void drain(bool all) override;
  bool busy() const override { return busy_; }
  void snapshot() override;

  // No thread shall write any more. Their programs go on.
  void stop() override;
  void kill() override;

  bool idle() const { return channels_.empty(); }
  // Of the process's threads, now.
  std::size_t channels_of(pid_t pid) const;
  std::vector<int> wake_fds() const override;
  std::vector<std::string> running() const override;
  // All processes that have asked for a channel, also behind stop(); some may have ended.
  const std::set<std::int32_t>& seen() const { return seen_; }
  // True once the file could take no more.
  const std::optional<Error>& file_error() const override { return file_error_; }
  // Keeps the code of files that are gone by now. The last thing that is written.
  void keep_missing_files();
  // Adds what is known about threads, losses and programs that could not be recorded.
  void summarize(RecordResult& result) const;

 private:
  // A thread's trace on its way into the file.
  struct Trace {
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::uint32_t idx = 0;
    AuxTail tail = {};
    std::uint64_t seen = 0;      // ns: by then all had run that was taken from the channel
    std::uint64_t left_out = 0;  // bytes that a snapshot has not kept, since the last one
  };
  struct Channel {
    relay::ChannelReader reader;
    Trace trace;
    std::uint64_t last_write = 0;  // ns
  };
  struct Process {
    Fd pidfd;
    std::string name = {};
    std::string root = {};  // of its files, where it has one of its own
    unsigned channels = 0;
    bool gone = false;
    // It may end otherwise without another word: it was about to execute another program, its last
    // thread closed its channel, or its channel was written over.
    bool gave_word = false;
    std::optional<ProcessEnd> end = {};  // as it said itself
  };
  struct Stream {  // one AUX buffer of the file: a thread, through all its execs
    std::uint32_t idx = 0;
    std::uint64_t offset = 0;
  };

  void add(NewChannel asked);
  void hold(NewChannel asked);
  void note_unrecorded(const relay::Hello& hello);
  Status announce(const relay::Hello& hello);
  Status announce_attached(const relay::Hello& hello, const perfdata::Stamp& stamp);
  Status write_records(Channel& channel);
  Status write_record(Channel& channel, const relay::Record& record);
  std::string as_seen_here(std::string path, const relay::MapRecord& map, std::int32_t pid);
  Status write_map(const relay::Record& record, const perfdata::Stamp& stamp);
  Status take_aux(Channel& channel, bool all);
  Status write_trace(Trace& trace, std::span<const std::span<const std::uint8_t>> pieces);
  Status write_handovers(Trace& trace, std::uint64_t offset, std::uint64_t size);
  Status write_stacks(const Trace& trace, std::span<const std::uint8_t> bytes);
  void keep_ended(Trace trace);
  void finish_round();
  Status drain_channel(Channel& channel, bool all);
  // Takes the rest of a channel whose thread is gone, and forgets it.
  void finish_channel(std::size_t index);
  void note_end(std::int32_t pid, Process& process);
  void note_overwritten(const Channel& channel);
  // The process runs another program from here on, or is a new one with an old number: what its
  // threads wrote until now comes first in their streams.
  void retire_channels(std::int32_t pid);
  void distrust_unless_leaving(std::int32_t pid);
  void notice_ended_processes();
  void keep(const Status& status);

  perfdata::Writer& writer_;
  const relay::Settings& settings_;
  std::uint64_t aux_size_;
  bool snapshot_;
  Connections connections_;
  NewPrograms* new_programs_ = nullptr;
  std::deque<Trace> ended_;  // snapshots: of threads that have ended, the newest last
  std::uint64_t ended_bytes_ = 0;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::map<std::int32_t, Process> processes_;
  std::map<std::int32_t, Stream> streams_;  // by tid
  // By path and inode: a program may be replaced. Empty: has none.
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::uint8_t>> build_ids_;
  HeldFiles held_files_;
  std::optional<Error> file_error_;
  std::set<std::int32_t> seen_;
  bool stopped_ = false;

  Rounds rounds_;
  bool round_open_ = false;  // stacks were written since the last finished round
  bool busy_ = false;        // a ring was found a quarter full
  std::uint64_t trace_bytes_ = 0;
  std::uint64_t overflows_ = 0;
  std::uint64_t unexplained_ = 0;
  std::vector<OverwrittenChannel> overwritten_;  // the first ones
  std::uint64_t overwritten_count_ = 0;
  std::vector<ProcessEnd> ends_;  // the first ones
  CacheUse cache_;
  std::uint32_t process_count_ = 0;
  std::vector<std::string> native_;  // one line for each program that ran unrecorded
};

}  // namespace hodo::capture
