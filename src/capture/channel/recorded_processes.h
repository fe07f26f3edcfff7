// The processes whose threads have channels: whether they live, and how they ended.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/capture/fd.h"
#include "hodo/capture/options.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/protocol.h"
#include "process_root.h"

namespace hodo::capture {

// A program's name as perf expects it, from bytes that it could have chosen.
std::string_view name_of(const std::array<char, 16>& comm);

struct RecordedProcess {
  Fd pidfd;
  std::string name = {};
  ProcessRoot root = {};
  unsigned channels = 0;
  bool gone = false;
  // It may end otherwise without another word: it was about to execute another program, its last
  // thread closed its channel, or its channel was written over.
  bool gave_word = false;
  std::optional<ProcessEnd> end = {};  // as it said itself
  bool end_is_judged = false;          // relay::EndRecord
};

class RecordedProcesses {
 public:
  // `is_told`: a process that stays the same through its execs tells of its end.
  explicit RecordedProcesses(bool is_told) : is_told_(is_told) {}

  // It has a channel, and had not ended when that was looked at last.
  bool lives(std::int32_t pid) const;
  RecordedProcess& operator[](std::int32_t pid) { return processes_[pid]; }
  std::size_t channels_of(std::int32_t pid) const;
  std::string name(std::int32_t pid) const;  // empty: it has none

  // One channel more.
  void join(const relay::Hello& hello);
  // One less. In words, what is missing if the process has ended without a word of it.
  std::optional<std::string> leave(std::int32_t pid, const relay::ChannelReader& reader);
  // Looks who has ended.
  void look();
  // A file system is about to go away: the root of none is held there.
  void let_go(dev_t device);
  void kill();

  // "NAME (process PID)" of those that live.
  std::vector<std::string> living() const;
  // Readable when one of them ends.
  std::vector<int> wake_fds() const;
  const std::vector<ProcessEnd>& ends() const { return ends_; }  // the first ones

 private:
  std::optional<std::string> note_end(std::int32_t pid, RecordedProcess& process);

  bool is_told_;
  std::map<std::int32_t, RecordedProcess> processes_;
  std::vector<ProcessEnd> ends_;
};

}  // namespace hodo::capture
