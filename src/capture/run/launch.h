// Runs the program that a recording is about, as if hodo were not there: its standard streams,
// terminal, process group, signal dispositions, working directory and environment are its own.
//
//   auto program = Program::prepare({.command = {"ls", "-l"}});  // forked, waits before exec
//   ... open events on (*program)->pid() ...
//   (*program)->start();  // exec; says why it failed
//   while (!(*program)->exit_status()) {
//     poll((*program)->event_fd(), ...);
//     (*program)->take_events();
//   }
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"

namespace hodo::capture {

struct LaunchSpec {
  // command[0] is looked up in PATH as execvp(3) does it; not empty.
  std::vector<std::string> command;
  // "NAME=value" lines that replace the whole environment; nullopt: hodo's own.
  std::optional<std::vector<std::string>> environment;
  // Descriptors that the program inherits under the same number although they are close-on-exec
  // here.
  std::vector<int> inherit_fds;
  // Take SIGUSR2 as a request for a snapshot instead of letting it act on hodo.
  bool snapshot_signal = false;
  // How long a program that a signal asked to end may take before it is asked harder.
  std::chrono::milliseconds grace{10'000};
};

// What a recording says of a program that had to be killed.
inline constexpr const char* kKilledWarning =
    "the program did not end when a signal asked it to, and was killed";

// What has happened since the last take_events().
struct ProgramEvents {
  bool stop = false;      // SIGINT, SIGQUIT or SIGHUP: end the recording, keep the data
  bool snapshot = false;  // SIGUSR2
  bool ended = false;     // the program has ended; exit_status() holds
};

// One program, from before its exec to its end.
//
// While a Program lives, SIGINT, SIGQUIT, SIGHUP, SIGTERM and SIGCHLD (and SIGUSR2, if asked for)
// are blocked in the thread that made it and arrive through event_fd(), as are the others that
// programs send each other and that would end hodo (SIGUSR1, SIGALRM, SIGABRT, SIGRTMIN and so on).
// So make it before starting threads, or signals will be delivered to those. SIGXFSZ is blocked,
// too: a file that may not grow is an error of write(2) then. The destructor puts everything back.
//
// - Ctrl-C and Ctrl-\ reach the program from the terminal, since it shares hodo's process group; of
//   hodo they make ProgramEvents::stop, and it survives to write its file.
// - A terminal that hangs up tells the leader of its session alone. If that is hodo, the program
//   gets SIGHUP and SIGCONT as it would from the kernel.
// - The same signals sent by kill(1) to hodo alone, and SIGTERM always, are passed on to the
//   program.
// - So are the others, which ask nothing of hodo (without a program they make
//   ProgramEvents::stop).
// - What the program or one that it has started sends reached hodo because it shares their process
//   group (kill(0, SIGUSR1)): of hodo that asks nothing.
// - Who does not end is asked harder, by the next such signal at once, else when the grace is over:
//   by SIGTERM, then by SIGKILL. A terminal's first signal has no such consequence: what it means
//   is the program's affair.
// - SIGHUP and SIGQUIT stay ignored if they were when hodo started (nohup). SIGINT, which shells
//   ignore in the background of a script, does not, as with perf; the program, which ignores it,
//   gets SIGTERM then.
//
// At most one Program may live at a time. Not thread-safe; use it from the thread that made it.
class Program {
 public:
  // Forks; the child waits for start() before it executes anything. If this object (or hodo) goes
  // away first, the child exits without having run the program. Errors: usage (empty command), io
  // (no process or descriptor to be had).
  static Result<std::unique_ptr<Program>> prepare(const LaunchSpec& spec);

  // No program, for who records processes that run already: only the signals. Each that asks for an
  // end, SIGTERM too, makes ProgramEvents::stop. Errors: io.
  static Result<std::unique_ptr<Program>> none(bool snapshot_signal);

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  // Does not wait for a program that is still running.
  ~Program();

  // Valid from prepare() on; the program keeps it across its exec.
  pid_t pid() const { return pid_; }

  // Lets the child exec and returns when that has succeeded or failed. After a failure the child is
  // gone and exit_status() is what a shell would give. Errors, the message starting with the
  // command:
  //   not_found      no such command, or its interpreter is missing (shells exit with 127)
  //   not_permitted  found, but may not be executed (126)
  //   io             anything else, with the kernel's reason (126)
  Status start();

  // Readable (POLLIN) when take_events() has something to say.
  int event_fd() const { return signals_.get(); }
  // Collects what has happened, passes signals on, and reaps the program. Never blocks.
  ProgramEvents take_events();

  // The same for those who wait for the program themselves, as a tracer must: what signals have
  // said, without reaping; and the status that waitpid(2) gave when it ended.
  ProgramEvents take_signals();
  void set_ended(int wait_status);

  // What waitpid(2) gave; nullopt while the program runs, and where that is not known.
  std::optional<int> wait_status() const { return wait_status_; }
  // nullopt while the program runs; else its exit status, 128 + N if signal N killed it.
  std::optional<int> exit_status() const { return exit_status_; }
  // Blocks until the program has ended, passing signals on meanwhile, and returns its exit status.
  // `stop_seen`, if given, is set when a stop event was among what happened.
  int wait(bool* stop_seen = nullptr);

  // Sends a signal to the program unless it has ended.
  void kill(int signal) const;
  // Asks it to end: by SIGTERM, and by SIGKILL if it was asked before, or when the grace is over.
  void end_harder();
  // A signal has asked the program to end, and so the recording not to outlive it.
  bool asked_to_end() const { return urge_ != Urge::none; }
  // It had to be killed.
  bool killed() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Urge : std::uint8_t { none, asked, terminated, killed };

  Program() = default;
  void take_request(int signal, bool sent);
  void hang_up() const;
  Status block_signals(bool snapshot_signal);
  void restore_signals();
  void reap(int options);

  pid_t pid_ = -1;
  std::string name_;
  Fd go_;          // written once to release the child
  Fd exec_error_;  // the child's errno, or end of file once exec has closed it
  Fd signals_;
  bool masked_ = false;
  bool snapshot_signal_ = false;
  sigset_t old_mask_ = {};
  struct sigaction old_sigchld_ = {};
  std::optional<int> exit_status_;
  Urge urge_ = Urge::none;
  std::optional<Clock::time_point> asked_;     // the last time that a signal did
  std::optional<Clock::time_point> deadline_;  // when the grace is over
  std::chrono::milliseconds grace_{};
  std::optional<int> wait_status_;
};

// The file that `command` names, found as execvp(3) does it: looked up in PATH if it has no slash.
// Lets a source refuse a mistyped command before it has touched anything. Errors, worded as those
// of Program::start(): not_found, not_permitted.
Result<std::string> find_command(const std::string& command);

// The shell's convention for a status from waitpid(2): the exit code, or 128 + signal.
int shell_status(int wait_status);

// The exit status with which a shell reports an error of Program::start(): 127 or 126.
int exec_failure_status(const Error& error);

}  // namespace hodo::capture
