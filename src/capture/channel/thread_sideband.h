// What the file says of threads beside their traces, as the kernel reports it of what perf records:
// beginnings, names, mappings, code that lies in no file, ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "held_files.h"
#include "hodo/capture/fd.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/protocol.h"
#include "process_root.h"
#include "rounds.h"

namespace hodo::capture {

class ThreadSideband {
 public:
  // Both must outlive this.
  ThreadSideband(perfdata::Writer& writer, Rounds& rounds) : writer_(writer), rounds_(rounds) {}

  // A thread begins, executes a program, or has been running for long.
  Status announce(const relay::Hello& hello);
  // Its process has executed a program while it was not recorded.
  Status announce_executed(const relay::Hello& hello);
  // A record of what a thread does; of others nothing is written. `root` is its process's, and
  // may be found anew.
  Status write(const relay::Record& record, std::int32_t pid, std::int32_t tid, ProcessRoot& root);
  // A file system is about to go away: nothing of it is held open any longer.
  Status let_go(dev_t device) { return held_files_.let_go(device, writer_, rounds_); }
  // HeldFiles::copy().
  void copy(std::pair<dev_t, ino_t> which, Fd file, Fd waits) {
    held_files_.copy(which, std::move(file), std::move(waits));
  }
  // Keeps the code of files that are gone by now. The last thing that is written.
  Status keep_missing_files() { return held_files_.keep_missing(writer_, rounds_); }

 private:
  Status announce_attached(const relay::Hello& hello, const perfdata::Stamp& stamp);
  Status write_fork(std::int32_t parent_pid, std::int32_t parent_tid, const perfdata::Stamp& stamp);
  Status write_map(const relay::Record& record, const perfdata::Stamp& stamp, ProcessRoot& root);
  void add_build_id(perfdata::Mmap& mmap, bool is_file);

  perfdata::Writer& writer_;
  Rounds& rounds_;
  HeldFiles held_files_;
  // By path and inode: a program may be replaced. Empty: has none.
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::uint8_t>> build_ids_;
};

}  // namespace hodo::capture
