// Leaves nothing where a recording comes to nothing.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace hodo::capture {

// Made before the file of a recording is. Writer moves an existing recording to PATH.old; if the
// program then cannot be run after all, undo() takes the new file away, and the old one comes back.
class OutputGuard {
 public:
  explicit OutputGuard(const std::string& path) : path_(path) {
    struct stat status = {};
    had_file_ = ::stat(path.c_str(), &status) == 0 && status.st_size > 0;
  }
  void undo() const {
    struct stat status = {};
    if (::lstat(path_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;  // as /dev/null
    ::unlink(path_.c_str());
    if (had_file_) std::rename((path_ + ".old").c_str(), path_.c_str());
  }

 private:
  std::string path_;
  bool had_file_ = false;
};

}  // namespace hodo::capture
