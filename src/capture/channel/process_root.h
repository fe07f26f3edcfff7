// The root of a recorded process's files, where it has one of its own (chroot, pivot_root), or sees
// other file systems than the recorder (mount namespaces). It is held, since most of what is
// looked for there is looked for when the process may have ended.
#pragma once

#include <sys/types.h>

#include <string>

#include "hodo/capture/fd.h"

namespace hodo::capture {

class ProcessRoot {
 public:
  // What it is now; what it was is good still if the process is gone.
  void look(pid_t pid);
  // As the recorder would name it; empty: as its own, or out of its reach.
  const std::string& path() const { return path_; }
  // What the process has at `path`, for no more than to open it by; invalid: nothing is there, or
  // it has no root of its own.
  Fd find(const std::string& path) const;
  // A file system is about to go away: if the root is on it, it is held no longer.
  void let_go(dev_t device);

 private:
  std::string path_;
  Fd place_;  // invalid: the recorder's
};

}  // namespace hodo::capture
