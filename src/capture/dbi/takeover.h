// Programs that begin: the thread that is about to execute one is held with ptrace, and the engine
// is started in the new program before its first instruction. Nothing is held longer than that, so
// that programs can be debugged, and debug others, while they are recorded.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "engine_image.h"
#include "hodo/capture/fd.h"

namespace hodo::capture {

// Whether this process may hold one that it starts: a filter of system calls or the Yama module may
// forbid it. Tries.
bool may_hold_children();

class Takeovers {
 public:
  // `child`: the program that hodo waits for itself.
  Takeovers(const EngineImage& engine, const relay::StartInfo& info)
      : engine_(engine), info_(info) {}

  // From here on the thread is held at its next exec. `connection` is taken, and closed when it has
  // executed a program, or failed to; without one that is sure to happen. Errors, with the
  // connection left alone: not_permitted, with why in words for the user.
  Status hold(pid_t pid, pid_t tid, Fd& connection);
  // The exit status of this one is for others to take.
  void set_child(pid_t child) { child_ = child; }

  // Goes on with what has happened. What could not be recorded, in words, is added to `failures`.
  void look(std::vector<std::string>& failures);
  // Readable when look() should be called.
  std::vector<int> wake_fds() const;

 private:
  struct Held {
    pid_t pid = 0, tid = 0;
    Fd connection;
    bool over = false;  // it has executed, or failed to
  };
  // True: it is not held any more.
  bool look_at(Held& held, std::vector<std::string>& failures);
  bool handle_stop(const Held& held, int status, std::vector<std::string>& failures);
  void take_over(pid_t pid, std::vector<std::string>& failures);

  const EngineImage& engine_;
  relay::StartInfo info_;
  pid_t child_ = 0;
  std::vector<Held> held_;
};

}  // namespace hodo::capture
