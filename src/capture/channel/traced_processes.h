// Recorded processes that others of the recording trace (debuggers, strace, crash handlers): each
// is rid of the engine before, runs natively meanwhile, and is recorded again once nobody traces
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "channel_socket.h"
#include "hodo/capture/fd.h"
#include "hodo/relay/protocol.h"
#include "new_programs.h"

namespace hodo::capture {

class TracedProcesses {
 public:
  // The recording that they are of.
  class Recording {
   public:
    virtual ~Recording() = default;
    // It has a channel.
    virtual bool lives(pid_t pid) const = 0;
    // It was just forked and has not said hello.
    virtual bool may_come_yet(pid_t pid) const = 0;
    // Whether another recorded process may run in its memory.
    virtual bool shares_memory(pid_t pid) const = 0;
    virtual std::string name(pid_t pid) const = 0;
    // Answers at the socket and takes what threads hand over; calls look() in turn.
    virtual void serve() = 0;
    // What was not recorded, in words.
    virtual void note(std::string words) = 0;
  };

  // Both must outlive it.
  TracedProcesses(Recording& recording, const relay::Settings& settings)
      : recording_(recording), settings_(settings) {}

  // relay::Start::traces: its sender waits until the process that it names is let go, or the
  // connection is closed.
  void ask(NewChannel asked);
  // Lets go of whom others are about to trace, and takes back whom nobody traces any more.
  void look(NewPrograms& programs);
  // A thread of the process says hello: whether it is the first of one that has come back, which
  // may have executed a program meanwhile.
  enum class Return : std::uint8_t { none, same, executed };
  Return welcome(pid_t pid);
  // Nobody is taken back any more, and nothing is said of whom is let go: all run on unrecorded.
  void stop() { stopped_ = true; }
  // "NAME (process PID)" of those that may come back.
  std::vector<std::string> away() const;
  // Those that have not come back, in words.
  std::vector<std::string> lost() const;

 private:
  struct Away {
    pid_t pid = 0;
    Fd pidfd, memory;  // the memory is that of the program that it ran when it went
    std::string name, tracer;
    std::uint64_t since = 0;  // ns
    bool was_traced = false;
  };

  void answer_all(NewPrograms& programs);
  bool may_be_let_go(pid_t pid, pid_t sender) const;
  void let_go(NewPrograms& programs, const NewChannel& asked, pid_t traced);
  void look_who_is_free(NewPrograms& programs);
  // True: it is not away any more.
  bool look_at(NewPrograms& programs, Away& away);
  bool take_back(NewPrograms& programs, const Away& away);
  void move(pid_t pid, auto how);
  static std::string words_of(const Away& away);

  Recording& recording_;
  const relay::Settings& settings_;
  std::vector<NewChannel> asked_;  // that nobody has answered yet
  std::vector<Away> away_;
  std::map<pid_t, Return> back_;  // whose threads have not said hello
  pid_t moving_ = 0;              // that is let go or taken back now
  std::uint64_t next_look_ = 0;   // ns
  bool stopped_ = false;
};

}  // namespace hodo::capture
