// Which calls a thread has open, branch after branch, and what became of each: for those who ask
// about single calls, where CallTree sums them up.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hodo/analyze/call_tree.h"
#include "hodo/session/clock.h"
#include "hodo/session/names.h"

namespace hodo::flow {
struct Transfers;
class CallJudge;
}  // namespace hodo::flow

namespace hodo::analyze {

// How a function came to be on the stack.
enum class CallEntry : std::uint8_t {
  first,    // the path begins in it, or was picked up in it: its caller is not known
  called,   // leaves to behind `site`
  jumped,   // by a tail call: leaves together with the call below
  outside,  // from the kernel or from where a filter hides the path; `site` is where that happened
};

// How a call ended.
enum class CallEnd : std::uint8_t {
  returned,
  skipped,  // left together with a call below it that it did not return to: exception, longjmp
  lost,     // the path was lost, or went to where no known caller is
  replaced  // by another program (exec), or another address space
};

// How far a thread has come.
struct CallClock {
  std::uint64_t branches = 0;      // executed: the number of the last one, counted from 1
  std::uint64_t instructions = 0;  // with that branch
  std::uint64_t time = 0;          // nanoseconds; 0: unknown
  std::uint64_t ticks = 0;         // the same by the trace's clock, as Names take it
  friend bool operator==(const CallClock&, const CallClock&) = default;
};

// A call that has not returned yet.
struct OpenCall {
  std::uint32_t function = 0;  // index in Following::functions()
  std::uint64_t site = 0;      // address of the call; 0: none, or unknown
  std::uint64_t entry = 0;     // where in the function the path came in
  CallClock since;             // with the branch that led there
  CallEntry how = CallEntry::first;
  bool stub = false;     // a PLT stub, which turns into the function that it leads to
  bool by_call = false;  // located as the target of a call
  // A jump led into the midst of a function, or a return to where no open call was made, while
  // others were open: it had begun before, perhaps elsewhere, as a coroutine that has been away. No
  // call of it begins.
  bool goes_on = false;
  // Where the thread was about to make it: so many branches had been executed, and so many
  // instructions since the last of them. A stub on the way to the function was called there.
  std::uint64_t made_branch = 0;
  std::uint64_t made_insn = 0;
};

// Whether it is told where calls of its function are.
inline bool is_listed(const OpenCall& call) {
  const bool nowhere = call.how == CallEntry::first && call.entry == 0;
  return !nowhere && !call.goes_on;
}

// A call as it is remembered without the names of a session.
struct SavedCall {
  std::uint64_t site = 0;
  std::uint64_t entry = 0;
  CallClock since;
  CallEntry how = CallEntry::first;
  bool by_call = false;  // without a symbol it is a function of its own
  bool goes_on = false;
  std::uint64_t made_branch = 0;
  std::uint64_t made_insn = 0;
  friend bool operator==(const SavedCall&, const SavedCall&) = default;
};

// A call of setjmp that one of the open calls made.
struct SetJump {
  std::uint32_t level = 0;  // so many calls were open around it, with the one that made it
  std::uint64_t site = 0;   // address of the call
  friend bool operator==(const SetJump&, const SetJump&) = default;
};

// What OpenCalls goes by, but for where returns have gone (Following).
struct SavedCalls {
  std::uint32_t space = 0;
  bool started = false;
  std::uint64_t last_time = 0;
  std::uint64_t ended_at = 0;
  CallClock clock;
  std::uint64_t last_loss = 0;     // number of the last `lost`; 0: there was none
  std::vector<SavedCall> open;     // outermost first
  std::vector<SetJump> set_jumps;  // likewise
};

// A call that has begun and ended, of a callee whose calls are told one by one.
struct PassedCall {
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  std::uint32_t callee = 0;    // for Following::tell_no_more()
  std::uint32_t function = 0;  // as OpenCall's
  std::uint32_t caller = 0;    // likewise, of the call around it that is of no stub; or kNobody
  std::uint64_t site = 0;      // address of the call
  CallClock since;             // with the branch that led there,
  CallClock until;             // and with the one that led back
};

// Hears of each call of a thread. References are valid during the call.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  // `depth`: so many calls were open before it.
  virtual void opened(const OpenCall& call, std::size_t depth) = 0;
  // The innermost open call ends; what it had called has been told before.
  virtual void closed(const OpenCall& call, CallEnd how, const CallClock& now) = 0;
  // What was a stub turned out to be this function.
  virtual void became(const OpenCall& call, std::size_t depth) = 0;
  // Calls have begun and ended of which nothing is told one by one (Following::call_judge); these
  // branches led into the last one, and back from the last one, 0: none.
  virtual void passed(std::uint64_t /*last_call*/, std::uint64_t /*last_return*/) {}
  // One of them, with Following::tell_single_calls().
  virtual void passed_one(const PassedCall& /*call*/) {}
};

// What threads of a session have in common when their calls are followed.
class Following {
 public:
  // `names` must outlive this.
  Following(const session::Names& names, session::Clock clock);
  ~Following();
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

  std::span<const Function> functions() const;
  // Where returns have gone lately in code without symbols, in all threads, by which jumps there
  // are told apart. By slot, with 0 for none.
  std::span<std::uint64_t> return_sites();
  // The slots that branches have changed since settle_return_sites(), in order.
  std::vector<std::uint32_t> changed_return_sites() const;
  void settle_return_sites();
  // The function that a call in this address space is of, as functions() has it.
  std::uint32_t function_of(std::uint32_t space, const SavedCall& call);
  // Whether a jump, and the straight line of code before it, lie within a function: then it is
  // nothing to open calls. As flow::BranchSink::may_leave_out.
  bool is_within(std::uint32_t space, std::uint64_t line, const Branch& jump) const;
  // For a decoder that follows calls itself: as flow::BranchSink::call_judge. Any thread may ask.
  const flow::CallJudge* call_judge(std::uint32_t space);
  // Of calls of which only the number is told (flow::PassedCalls); not all that Function says.
  SavedCall passed_call(std::uint32_t callee) const;
  // Such calls are told one by one, too (CallWatcher::passed_one), from the next branch on that the
  // judge is asked about; but for callees of which nobody wants to hear more. It takes a while
  // until they are not told any more.
  void tell_single_calls();
  void tell_no_more(std::uint32_t callee);

 private:
  friend class OpenCalls;
  struct State;
  std::unique_ptr<State> state_;
};

// The open calls of one thread, by the rules of CallTree (call_tree.h). Give it all branches of the
// thread in order; those that were not taken count for nothing. Memory is bounded by a stack's
// possible depth.
class OpenCalls {
 public:
  // Both must outlive this; `watcher` may be null.
  OpenCalls(Following& following, CallWatcher* watcher);
  ~OpenCalls();
  OpenCalls(OpenCalls&&) noexcept;

  void branch(std::uint32_t space, const Branch& branch) { branches(space, {&branch, 1}); }
  void branches(std::uint32_t space, std::span<const Branch> batch);
  // The same without jumps of which Following::is_within() says so.
  void transfers(std::uint32_t space, const flow::Transfers& batch);
  // Outermost first, stubs among them.
  std::vector<OpenCall> open() const;
  const CallClock& clock() const;

  SavedCalls save() const;
  // As if the branches up to there had come; the watcher hears of the open calls.
  void restore(const SavedCalls& saved);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hodo::analyze
