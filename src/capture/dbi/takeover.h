// Programs that begin: the thread that is about to execute one is held with ptrace, and the engine
// is started in the new program before its first instruction. Nothing is held longer than that, so
// that programs can be debugged, and debug others, while they are recorded.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "channel/new_programs.h"
#include "dying_threads.h"
#include "engine_image.h"
#include "hodo/capture/fd.h"
#include "tracee.h"

namespace hodo::capture {

// Whether this process may hold one that it starts: a filter of system calls or the Yama module may
// forbid it, or somebody else hold it. Tries; says which rule forbids it, and the remedy.
Status check_holding();

class Takeovers final : public NewPrograms {
 public:
  // `threads`: those that are recorded of processes that come back; empty: all.
  Takeovers(const EngineImage& engine, const relay::StartInfo& info, std::span<const pid_t> threads)
      : engine_(engine), info_(info), threads_(threads), dying_(engine) {}

  Status hold(pid_t pid, pid_t tid, Fd& connection, const relay::Line& line) override;
  void hold_stopped(pid_t pid, pid_t dying) override { dying_.hold(pid, dying); }
  Status let_go(pid_t pid, const Meanwhile& meanwhile) override;
  bool is_traced(pid_t pid) override;
  Status take_back(pid_t pid, const relay::Settings& settings, const Meanwhile& meanwhile) override;
  void set_child(pid_t child) override { child_ = child; }
  void look(std::vector<std::string>& failures) override;
  std::vector<int> wake_fds() const override;

 private:
  struct Held {
    pid_t pid = 0, tid = 0;
    Fd connection;
    relay::Line line;
    bool over = false;  // it has executed, or failed to
  };
  // True: it is not held any more.
  bool look_at(Held& held, std::vector<std::string>& failures);
  bool handle_stop(const Held& held, int status, std::vector<std::string>& failures);
  // For the user, or empty: the program is to begin in the engine.
  std::string take_over(const Held& held) const;

  const EngineImage& engine_;
  relay::StartInfo info_;
  std::span<const pid_t> threads_;
  pid_t child_ = 0;
  std::vector<Held> held_;
  DyingThreads dying_;
};

}  // namespace hodo::capture
