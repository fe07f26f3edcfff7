// What channels ask of who holds threads with ptrace: the engine is not in a program that a
// recorded thread executes until somebody puts it there, a process that dies cannot show its other
// threads by itself, and one that another is to trace has to be rid of the engine until that has
// left.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"
#include "hodo/relay/protocol.h"

namespace hodo::capture {

class NewPrograms {
 public:
  virtual ~NewPrograms() = default;
  // From here on the thread is held at its next exec. `connection` is taken, and closed when it has
  // executed a program, or failed to; without one that is sure to happen. `line`: as the thread has
  // it. Errors, with the connection left alone: not_permitted, with why in words for the user; none
  // where there is nothing to say.
  virtual Status hold(pid_t pid, pid_t tid, Fd& connection, const relay::Line& line) = 0;
  // The process dies of a signal in this thread, and its others have stopped: they are held from
  // here on, with the program's registers, for its core file.
  virtual void hold_stopped(pid_t pid, pid_t dying) = 0;
  // The process goes on natively from here on. `meanwhile` has to answer at the socket, and to take
  // what threads hand over. Errors: it has not been let go.
  virtual Status let_go(pid_t pid, const std::function<void()>& meanwhile) = 0;
  // Another process traces a thread of this one.
  virtual bool is_traced(pid_t pid) = 0;
  // The process that was let go is recorded again from here on: its threads ask for channels.
  // `meanwhile` as above. Errors: as attach(); it runs as it did.
  virtual Status take_back(pid_t pid, const relay::Settings& settings,
                           const std::function<void()>& meanwhile) = 0;
  // The program that hodo waits for itself: its exit status is for others to take.
  virtual void set_child(pid_t child) = 0;
  // Goes on with what has happened. What could not be recorded, in words, is added to `failures`.
  virtual void look(std::vector<std::string>& failures) = 0;
  // Readable when look() should be called.
  virtual std::vector<int> wake_fds() const = 0;
};

}  // namespace hodo::capture
