// Follows the calls of a thread that were inlined, beside the others.
//
// A call begins where the path comes to its entry, as a debugger would stop there; if it is open
// and the path has stayed in its code since, it goes round in a loop instead. Where debug
// information names no entry, it begins where the path comes into its code: for the first time,
// there again, or after a loop around has gone back. It ends behind the last instruction of its own
// that is executed before the next one begins or the function around it is left: what compilers
// have moved into its midst does not end it. Without a beginning that was seen, none is told of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/code.h"
#include "hodo/ask/moment.h"
#include "hodo/session/session.h"
#include "inlined_code.h"

namespace hodo::ask {

// A place on a thread's path.
struct PathPoint {
  std::uint64_t insn = 0;    // instructions behind the branch
  analyze::CallClock clock;  // with the last branch before, and without those instructions
};

struct InlinedCallBegun {
  std::uint32_t function = 0;  // in InlinedCode::functions()
  std::uint64_t entry = 0;     // address
  PathPoint at;
  session::Context who;
};

class InlinedWatcher {
 public:
  virtual ~InlinedWatcher() = default;
  // A number of the watcher's own for ended(); 0: it does not want to hear of the end.
  virtual std::uint64_t began(const InlinedCallBegun& call) = 0;
  // `open`: the path ends in it. Ends come when they are known, which may be later.
  virtual void ended(std::uint64_t number, const PathPoint& at, analyze::CallEnd how,
                     bool open) = 0;
};

// Stands between OpenCalls and its watcher.
class InlinedFollower final : public analyze::CallWatcher {
 public:
  // All must outlive this.
  InlinedFollower(InlinedCode& inlined, Code& code, analyze::CallWatcher& behind,
                  InlinedWatcher& watcher)
      : inlined_(inlined), code_(code), behind_(behind), watcher_(watcher) {}

  // The next branches of the thread, which go to `calls`, too.
  void branches(const session::Context& who, std::span<const Branch> batch,
                analyze::OpenCalls& calls) {
    for (const Branch& branch : batch) this->branch(who, branch, calls);
  }
  void branch(const session::Context& who, const Branch& branch, analyze::OpenCalls& calls);
  // The path ends, at `now`.
  void end(const analyze::CallClock& now);

  // The path comes to `now`, and OpenCalls is about to be restored (OpenCalls::restore) to where
  // `last` was the branch before; `forwards`: in what was left out none of the code has run.
  void restart(const Branch& last, const analyze::CallClock& now, bool forwards);
  // It was.
  void restarted();

  void opened(const analyze::OpenCall& call, std::size_t depth) override;
  void closed(const analyze::OpenCall& call, analyze::CallEnd how,
              const analyze::CallClock& now) override;
  void became(const analyze::OpenCall& call, std::size_t depth) override {
    behind_.became(call, depth);
  }

 private:
  // A call that is open around.
  struct Frame {
    std::uint64_t entry = 0;
    std::uint64_t since = 0;  // branches
    bool operator==(const Frame&) const = default;
  };
  struct Open {
    const InlinedInFile* file = nullptr;
    std::uint32_t call = 0;
    std::uint64_t number = 0;  // the watcher's
    std::uint64_t begin = 0;   // offset where the path came into it
    std::size_t depth = 0;     // frames around it
    bool inside = true;        // the last line of the frame ended in its code
    bool left = false;         // the path was outside of it since it began,
    bool over = false;         // and has gone round from there: what runs of it is of the next one
    // What it had called was left by an exception or longjmp, and it has called nothing since. The
    // code that catches does; compilers give an inlined call the first instructions of a landing
    // pad that is not its own.
    bool thrown = false;
    PathPoint end;  // behind its last instruction; not while it is inside
    analyze::CallEnd how = analyze::CallEnd::returned;
  };
  struct Line {
    std::uint64_t begin = 0, end = 0;  // offsets: [begin, end)
    std::uint64_t delta = 0;           // address less offset
    const InlinedInFile* file = nullptr;
    const session::Context* who = nullptr;
    const Branch* branch = nullptr;
    const analyze::CallClock* clock = nullptr;
  };

  void line(const session::Context& who, const Branch& branch, const analyze::CallClock& clock);
  std::optional<std::size_t> find(const Line& line, std::uint32_t call) const;
  bool is_picked_up(const Line& line, const InlinedInFile::Call& call) const;
  void go_back(const Line& line);
  void pass(const Line& line);
  void pass(const Line& line, const InlinedInFile& file, std::uint32_t number);
  static void leave(Open& open, const PathPoint& at);
  std::optional<std::uint64_t> entry_in(const Line& line, const InlinedInFile::Call& call,
                                        const Spot& piece, std::optional<std::size_t> open) const;
  std::optional<std::size_t> begin(const Line& line, std::uint32_t number, std::uint64_t entry,
                                   std::optional<std::size_t> open);
  std::uint64_t distance(const Line& line, std::uint64_t to);
  void finish(const Open& open, analyze::CallEnd how, const analyze::CallClock& now, bool is_open);
  void close_above(std::size_t depth, analyze::CallEnd how, const analyze::CallClock& now);

  InlinedCode& inlined_;
  Code& code_;
  analyze::CallWatcher& behind_;
  InlinedWatcher& watcher_;
  std::vector<Frame> frames_;
  std::vector<Frame> frames_before_;  // of before a part that was left out
  bool picked_up_ = true;             // the next line follows nothing that was seen
  Branch before_;
  analyze::CallClock now_;            // where the path was left
  std::vector<Open> open_;            // those of outer frames first
  std::vector<std::uint32_t> calls_;  // that a line meets
};

}  // namespace hodo::ask
