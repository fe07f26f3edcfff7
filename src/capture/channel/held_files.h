// Files of code that are gone before anybody reads the recording: a program that was compiled, run
// and deleted, a library that was replaced, one that lies where only its process sees it. Each file
// is held open from when it is mapped; of those that are not where their mappings say at the end
// the recording keeps the code, and the whole file, as what checks code needs it. So it does with
// those that another process serves, which are copied at once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "file_copies.h"
#include "hodo/capture/fd.h"
#include "hodo/perfdata/writer.h"
#include "process_root.h"
#include "rounds.h"

namespace hodo::capture {

class HeldFiles {
 public:
  // So many files are open at a time, and so much code is kept of all that are gone.
  static constexpr std::size_t kMostFiles = 128;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  // Of whole files, which the writer has in memory until the end.
  static constexpr std::uint64_t kMostWhole = FileCopies::kMostWhole;
  // For what is being copied, where it has to be done.
  static constexpr std::chrono::milliseconds kPatience{2000};

  // Whether nobody here may touch what is mapped from there (FileCopies).
  bool is_served(dev_t device, ino_t inode, pid_t pid);
  // Holds what the process executes; best while it waits, since a short one ends soon.
  void hold_program(pid_t pid);
  // A mapping of code: its file is held from now on, and its code kept if need be. May write what
  // is gone by now to make room.
  Status note(const perfdata::Mmap& mapping, const perfdata::Stamp& stamp, const ProcessRoot& root,
              perfdata::Writer& writer, Rounds& rounds);
  // Of a mapping that was noted: its file is served, and `file`, if it is anything, is that as its
  // process has opened it. Once it is copied a byte goes to who waits.
  void copy(std::pair<dev_t, ino_t> which, Fd file, Fd waits);
  // The process has sent what it has at `address`, of the time of a mapping: so it does with all of
  // one of a file that was gone already, which may have been written to since (code that was made
  // in a private mapping of memfd_create()).
  void sent(std::uint64_t address, const perfdata::Stamp& stamp);
  // Where the very file that is mapped can be opened: its path where nothing tells whether it is
  // another one that lies there. Empty: nowhere, or it is another process's to serve.
  std::string way_to(const perfdata::Mmap& mapping);
  // Of this file system none is held any longer; what was mapped of them is written, since they may
  // be out of reach from now on. The errors of Writer::code().
  Status let_go(dev_t device, perfdata::Writer& writer, Rounds& rounds);
  // Writes the code of all that are gone. The errors of Writer::code().
  Status keep_missing(perfdata::Writer& writer, Rounds& rounds);

 private:
  // One file has several names where it is linked or mounted several times, and may lose one.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string path;  // for whoever reads the recording
    auto operator<=>(const Identity&) const = default;
  };
  struct Mapped {
    perfdata::Stamp stamp;
    std::uint64_t address = 0, size = 0, offset = 0;
  };
  struct Held {
    Fd file;  // or
    std::shared_ptr<FileCopies::Copy> copy;
    std::vector<Mapped> mappings;
  };

  Held* find(const perfdata::Mmap& mapping);
  static int descriptor(const Held& held);
  static std::string way_to(const Held& held);
  Held* hold_mapped(const perfdata::Mmap& mapping, pid_t pid, const ProcessRoot& root);
  Held* copy_mapped(const perfdata::Mmap& mapping);
  void hold(const Fd& place, std::string path);
  Status keep(const Identity& identity, const Held& held, perfdata::Writer& writer, Rounds& rounds);
  void keep_whole(const Identity& identity, const Held& held, perfdata::Writer& writer);

  std::map<Identity, Held> files_;
  FileCopies copies_;
  std::map<std::pair<dev_t, ino_t>, bool> served_;  // of which it is known, or forgotten again
  std::uint64_t kept_ = 0, kept_whole_ = 0;         // bytes
};

}  // namespace hodo::capture
