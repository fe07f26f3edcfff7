// Steps a program, its threads and its children with ptrace(2), and tells a StepFile what they did.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "run/launch.h"
#include "step_code.h"
#include "step_file.h"

namespace hodo::capture {

class Stepper {
 public:
  enum class Unit : std::uint8_t { instructions, branches };  // what one step runs

  Stepper(Program& program, StepFile& file, Unit unit, bool follow_children)
      : program_(program), file_(file), unit_(unit), follow_children_(follow_children) {}

  // Takes hold of the program, which waits for its start. Errors: not_permitted.
  Status seize();
  // Deals with what has happened to the tasks. True if anything had. Errors: those of StepFile.
  Result<bool> handle_stops();
  // Lets all tasks go on alone, each at its next stop.
  void let_go();

  bool idle() const { return tasks_.empty(); }
  std::uint64_t steps() const { return steps_; }
  // Some of it was 64-bit code.
  bool stepped_wide() const { return stepped_wide_; }
  // How processes ended, the first ones.
  const std::vector<ProcessEnd>& ends() const { return ends_; }

 private:
  struct Task {
    pid_t pid = 0;
    pid_t tid = 0;
    bool announced = false;           // the file knows it
    bool begun = false;               // its first address is recorded
    std::uint64_t at = 0;             // where it stood when it was last let run
    std::optional<SteppedInsn> insn;  // there; none: no code
    bool by_branches = false;         // a step of branches is under way
    std::uint64_t number = 0;         // of a system call, if insn is one
    // Back from the kernel here, which is not recorded yet: a signal's handler may come first.
    std::uint64_t resumes_at = 0;
    bool enters_handler = false;    // a signal is on its way to its handler
    std::uint64_t interrupted = 0;  // by that signal, here; 0: it came out of the kernel
  };
  // The last signal that a process was given and has no handler for.
  struct Signal {
    int number = 0;
    pid_t tid = 0;
    std::uint64_t ip = 0;  // 0: in the kernel
  };
  struct Birth {
    pid_t parent_pid = 0;
    pid_t parent_tid = 0;
  };

  Status handle_stop(pid_t tid, int status);
  Status handle_end(Task& task, int status);
  Status handle_event(Task& task, int event, int signal);
  Status handle_trap(Task& task);
  Status handle_signal(Task& task, int signal);
  Status handle_exec(Task& task);
  Status announce(Task& task);
  Status begin(Task& task);
  Status finish_step(Task& task, std::uint64_t now, bool stepped);
  Status came_back(Task& task);
  Status record(Task& task, const SteppedInsn& at, std::uint64_t to);
  Status resume(Task& task, int signal);
  bool may_step_branches(Task& task, isa::Mode mode) const;
  Task& task_of(pid_t tid);
  void release(Task& task, int signal);
  void note_end(const Task& task, int status);

  Program& program_;
  StepFile& file_;
  Unit unit_;
  bool follow_children_;
  bool letting_go_ = false;
  std::map<pid_t, Task> tasks_;
  std::map<pid_t, Signal> uncaught_;  // by process
  std::map<pid_t, pid_t> exiting_;    // by process: which thread has it exit
  std::vector<ProcessEnd> ends_;
  std::map<pid_t, Birth> births_;  // of tasks that have not stopped yet
  std::uint64_t steps_ = 0;
  bool stepped_wide_ = false;
};

}  // namespace hodo::capture
