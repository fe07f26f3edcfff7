// The channels of all traced threads, and their way into the file.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "channel_set.h"
#include "channel_socket.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/protocol.h"
#include "killed_threads.h"
#include "new_programs.h"
#include "recorded_processes.h"
#include "rounds.h"
#include "thread_sideband.h"
#include "thread_traces.h"
#include "traced_processes.h"

namespace hodo::capture {

class ThreadChannels final : public ChannelSet, private TracedProcesses::Recording {
 public:
  // `snapshot`: only the newest `aux_size` bytes of each thread are kept, and of those that have
  // ended together as much, until snapshot() writes them.
  ThreadChannels(perfdata::Writer& writer, const relay::Settings& settings, const relay::Key& key,
                 std::uint64_t aux_size, bool snapshot)
      : writer_(writer),
        settings_(settings),
        aux_size_(aux_size),
        connections_(settings, key, aux_size),
        traces_(writer, settings.recording, aux_size, snapshot, rounds_),
        sideband_(writer, rounds_),
        processes_(settings.follow_exec != 0) {}

  // Who asks to be taken over at an exec is given to these.
  void set_new_programs(NewPrograms* programs) { new_programs_ = programs; }
  void accept(int listening_socket) override;

  // Moves what the channels hold to the file: everything with `all`, else where enough has come
  // together. Channels whose process is gone, or that are closed, are finished and forgotten. The
  // first error of the file ends the recording (see stop); later calls do nothing.
  void drain(bool all) override;
  void flush() override;
  DrainPace::Wait patience() const override { return pace_.wait(); }
  void snapshot() override;

  // No thread shall write any more. Their programs go on.
  void stop() override;
  void kill() override;

  bool idle() const { return channels_.empty(); }
  // Of the process's threads, now.
  std::size_t channels_of(pid_t pid) const { return processes_.channels_of(pid); }
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
  bool lives(pid_t pid) const override { return processes_.lives(pid); }
  bool may_come_yet(pid_t pid) const override;
  bool shares_memory(pid_t pid) const override;
  std::string name(pid_t pid) const override { return processes_.name(pid); }
  void serve() override;
  void note(std::string words) override;

  struct Channel {
    relay::ChannelReader reader;
    ThreadTrace trace;
    std::uint64_t last_write = 0;  // ns
  };

  void add(NewChannel asked);
  void hold(NewChannel asked);
  void hold_stopped(const NewChannel& asked);
  void note_unrecorded(const relay::Hello& hello);
  void let_go_of_files(const NewChannel& asked);
  void hold_files(const NewChannel& asked);
  void copy_file(NewChannel asked);
  Status write_records(Channel& channel);
  Status write_record(Channel& channel, const relay::Record& record);
  Status take_aux(Channel& channel, bool all);
  void finish_round();
  void look_for_killed_threads();
  Status drain_channel(Channel& channel, bool all);
  // Takes the rest of a channel whose thread is gone, and forgets it.
  void finish_channel(std::size_t index);
  void note_overwritten(const Channel& channel);
  // The process runs another program from here on, or is a new one with an old number: what its
  // threads wrote until now comes first in their streams.
  void retire_channels(std::int32_t pid);
  void distrust_unless_leaving(std::int32_t pid);
  void keep(const Status& status);

  perfdata::Writer& writer_;
  const relay::Settings& settings_;
  std::uint64_t aux_size_;
  Connections connections_;
  NewPrograms* new_programs_ = nullptr;
  Rounds rounds_;
  ThreadTraces traces_;
  ThreadSideband sideband_;
  RecordedProcesses processes_;
  KilledThreads killed_threads_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::optional<Error> file_error_;
  std::set<std::int32_t> seen_;
  TracedProcesses traced_{*this, settings_};
  int listening_ = -1;
  bool stopped_ = false;

  DrainPace pace_;
  std::uint64_t overflows_ = 0;
  std::uint64_t unexplained_ = 0;
  std::vector<OverwrittenChannel> overwritten_;  // the first ones
  std::uint64_t overwritten_count_ = 0;
  CacheUse cache_;
  std::uint32_t process_count_ = 0;
  std::vector<std::string> native_;  // one line for each program that ran unrecorded
};

}  // namespace hodo::capture
