// Who called whom, how often, and what it cost: a tree of call paths for each thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hodo/session/clock.h"
#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

struct Function {
  std::string name;        // raw; "[ls+0x4f30]" for a called address without a symbol
  std::string object;      // path of the mapped file, raw; may be empty
  bool synthetic = false;  // the name is hodo's: session::Place::synthetic
};

// One call path: a function reached through its parents.
struct CallNode {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t parent = kNone;    // index of a node before this one; kNone for a thread's root
  std::uint32_t function = 0;      // index in functions(); of a thread's root: no function
  std::uint64_t calls = 0;         // times that it was entered
  std::uint64_t instructions = 0;  // executed in the function itself
  // Nanoseconds between entering and leaving, callees left out, time asleep and in the kernel
  // included; in the trace's own clock where the recording relates it to no other.
  std::uint64_t time = 0;
  std::uint32_t last_child = kNone;    // the child that was entered last
  std::uint32_t entered_next = kNone;  // what the parent entered behind this node last
};

struct CallThread {
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint32_t root = 0;      // index in nodes()
  std::uint64_t gaps = 0;      // where trace was lost
  std::uint64_t gap_time = 0;  // in them; in no node
  std::uint64_t restarts = 0;  // without a gap: the path went to where no known caller is
};

// Follows calls and returns of every thread. What it does where they do not pair:
//  - behind a gap the stack starts anew under "[unknown caller]"; no frames are made up;
//  - a jump to the start of another function is a tail call: its callee lies below the function
//    that jumped, and one return leaves both. Jumps that go round are folded;
//  - a return that skips frames (an unwinder) leaves them; so does an indirect jump into the middle
//    of a function that is on the stack (longjmp, the landing pad of an exception): into the
//    innermost of its calls that has called setjmp there, or that an exception may have come
//    through by the file's unwind tables; else the innermost of all. Other jumps into a function's
//    middle, and by a table of cases, lead to a part of the function that jumps, which where
//    nothing tells whose it is is one of its own: that is on the stack like a tail call;
//  - a jump within a known function changes nothing, whatever is on top, as behind the return of a
//    signal handler;
//  - tracing that goes on at the start of a function is a call from outside: a signal handler, or a
//    callback from where a filter hides the path. It ends where the path goes on at the place that
//    it interrupted;
//  - PLT stubs are no frames: their instructions are the caller's. What the dynamic linker binds at
//    a first call takes the place of its resolver;
//  - an exec leaves all frames: what it starts has no caller. Without times in the trace it is not
//    known where that is, and the new program goes on below the call of execve.
//
// Takes the branches of each thread in order. Memory is bounded by the distinct paths: behind
// kMaxPaths everything new counts for node 0, "[other]".
class CallTree final : public session::BranchSink {
 public:
  static constexpr std::size_t kMaxPaths = std::size_t{1} << 20;

  // `names` must outlive the tree.
  CallTree(const session::Names& names, session::Clock clock, std::size_t max_paths = kMaxPaths);
  ~CallTree() override;

  bool branches(const session::Context& context, std::span<const Branch> batch) override;
  // Jumps within a function only add to its instructions, and the decoder follows the rest itself
  // as far as it can tell.
  bool leaves_out_jumps() const override { return true; }
  bool may_leave_out(const session::Context& context, std::uint64_t line,
                     const Branch& jump) const override;
  const flow::CallJudge* call_judge(const session::Context& context) override;
  bool transfers(const session::Context& context, const flow::Transfers& batch) override;

  // Parents come before their children. Node 0 is "[other]".
  std::span<const CallNode> nodes() const;
  std::span<const Function> functions() const;
  // In order of appearance.
  std::vector<CallThread> threads() const;

  struct Totals {
    std::uint64_t instructions = 0;
    std::uint64_t time = 0;
  };
  // Of each node with everything below it.
  std::vector<Totals> inclusive() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hodo::analyze
