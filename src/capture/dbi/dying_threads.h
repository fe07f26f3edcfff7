// Processes that die of a signal, for their core files: the other threads have stopped in the
// engine (engine/threads.h, stop_here). Held with ptrace, they get the program's registers, which
// the kernel writes when it ends them; none of them runs any more.
#pragma once

#include <sys/types.h>

#include <vector>

#include "engine_image.h"

namespace hodo::capture {

class DyingThreads {
 public:
  explicit DyingThreads(const EngineImage& engine) : engine_(engine) {}

  // All of the process but the one that dies. Waits for them a fraction of a second, at most.
  void hold(pid_t pid, pid_t dying);
  // Takes what has ended, which the process's parent waits for. But for `child`, if that is the
  // parent's own.
  void look(pid_t child);

 private:
  struct Held {
    pid_t pid = 0, tid = 0;
    bool stands = false;  // with the program's registers, if they are known; or it has ended
  };
  void take_stop(Held& held) const;
  void show(const Held& held) const;

  const EngineImage& engine_;
  std::vector<Held> held_;
};

}  // namespace hodo::capture
