// Judges a recording while it is made.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"
#include "hodo/check/suppressions.h"

namespace hodo::cli {

// What to do when something is found.
enum class OnFinding : unsigned char { report, stop };

// A process of its own, so that the recording does not depend on it. It reads the file that is
// being written, and tells standard error what it finds when it finds it. Traces that cannot be
// decoded as they grow it judges at the end.
class LiveCheck {
 public:
  // `path`: of the recording that is about to be made. Errors: io.
  static Result<std::unique_ptr<LiveCheck>> start(const std::string& path, OnFinding what,
                                                  const check::Suppressions& suppressions);
  // Without finish(), nothing more is judged.
  ~LiveCheck();
  LiveCheck(const LiveCheck&) = delete;
  LiveCheck& operator=(const LiveCheck&) = delete;

  // Readable (POLLIN) when the program shall be ended.
  int end_fd() const { return end_.get(); }
  // The recording is complete. Waits for the verdict, whose summary is on standard error then:
  // kExitOk, kExitFindings or kExitIncomplete, the latter also where the check did not survive.
  int finish();

 private:
  LiveCheck() = default;
  void reap();

  pid_t pid_ = -1;
  capture::Fd complete_;  // closed: the recording is complete
  capture::Fd verdict_;   // one byte comes here
  capture::Fd end_;       // an eventfd
};

}  // namespace hodo::cli
