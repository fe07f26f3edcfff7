// One thread's stack, rebuilt from its branches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "call_paths.h"
#include "call_rules.h"
#include "call_spans.h"
#include "functions.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/flow/branch.h"
#include "return_sites.h"
#include "set_jumps.h"

namespace hodo::analyze {

// Where a saved call went.
Located located(Functions& functions, std::uint32_t space, const SavedCall& call);

class CallStack {
 public:
  // As many frames as a stack of 16 MiB can have; a deeper one is nobody's.
  static constexpr std::size_t kDeepest = std::size_t{1} << 20;

  // What a call needs that is only counted: a line of the cache, since each is written and read
  // again when what it called returns.
  struct Frame {
    Located function;
    std::uint64_t site = 0;  // as OpenCall's
    std::uint32_t node = 0;
    CallEntry how = CallEntry::first;
    bool set_jump = false;  // some of the last SetJumps are of it
    bool goes_on = false;   // as OpenCall's
  };
  static_assert(sizeof(Frame) <= 64);

  // For sums alone: there are no calls() and nothing to save(). All must outlive the stack.
  CallStack(Functions& functions, CallPaths& paths, ReturnSites& sites, CallThread& thread);
  // `watcher` may be null.
  CallStack(Functions& functions, CallPaths& paths, ReturnSites& sites, CallThread& thread,
            CallWatcher* watcher);

  // `now`: nanoseconds, 0 if unknown.
  void branch(std::uint32_t space, const Branch& branch, std::uint64_t now) {
    if (stays(space, branch, now)) {
      count_here(branch);
    } else {
      follow(space, branch, now);
    }
  }
  // A row of transfers, of one time; `spans` may be null if there are none among them. Those that
  // are summed up are for stacks that are for sums alone.
  void transfers(std::uint32_t space, std::span<const flow::Transfer> row,
                 const flow::TransferBook& book, std::uint64_t time, std::uint64_t now,
                 CallRules& rules, CallSpans* spans = nullptr);
  // That are open, outermost first.
  std::span<const OpenCall> calls() const { return std::span(calls_).first(frames_.size()); }
  const CallClock& clock() const { return clock_; }

  SavedCalls save() const;
  void restore(const SavedCalls& saved);

 private:
  // A jump within the function on top, with no more time gone: most branches are.
  bool stays(std::uint32_t space, const Branch& branch, std::uint64_t now) const {
    using enum BranchKind;
    const bool jumps = branch.kind == cond || branch.kind == jmp || branch.kind == ijmp;
    if (!jumps || frames_.empty() || space != space_ || now != last_time_) return false;
    return has(frames_.back(), branch.to) && (branch.flags & kNotTaken) == 0;
  }
  void count_here(const Branch& branch) {
    ++clock_.branches;
    clock_.instructions += branch.insns;
    if (branch.time != 0) clock_.ticks = branch.time;
    paths_[frames_.back().node].instructions += branch.insns;
  }
  void count_left_out(const flow::Transfer& transfer);
  void follow_span(CallSpans& spans, const flow::TransferBook& book, std::uint64_t time,
                   CallRules& rules);
  void passed_in_span(const flow::SingleCall& call, CallSpans& spans,
                      const flow::TransferBook& book, const CallClock& begin, CallRules& rules);
  void follow_summed(CallSpans& spans, const flow::TransferBook& book, std::uint64_t time,
                     CallRules& rules);
  void returned_in_span(const flow::ReturnedCall& call, const flow::TransferBook& book,
                        std::uint64_t time);
  void opened_in_span(const flow::OpenedCall& call, const CallJudging::Callee& callee,
                      const flow::TransferBook& book, const CallClock& begin, std::uint64_t time);
  bool follow_rule(CallRule& rule, CallRules& rules, std::uint32_t insns, std::uint64_t to,
                   std::uint64_t time);
  bool call_by_rule(CallRule& rule, CallRules& rules, std::uint32_t insns, std::uint64_t to);
  void follow_written(std::uint32_t space, const Branch& written, std::uint32_t insns,
                      std::uint64_t to, std::uint64_t time, std::uint64_t now);
  static bool has(const Frame& frame, std::uint64_t address) {
    return address - frame.function.start < frame.function.size;
  }
  void count_rule(std::uint32_t insns);
  void follow(std::uint32_t space, const Branch& branch, std::uint64_t now);
  // Whether nothing is to be done about it but what its kind says.
  bool is_plain(std::uint32_t space, const Branch& branch, std::uint64_t now) const {
    return branch.flags == 0 && !frames_.empty() && space == space_ && now == last_time_;
  }
  void follow_any(std::uint32_t space, const Branch& branch, std::uint64_t now);
  void count(const Branch& branch, std::uint64_t now);
  void lost(const Branch& branch);
  void begun(const Branch& branch);
  void called(const Branch& branch);
  void returned(const Branch& branch);
  void note_site(std::uint64_t to, std::uint64_t time);
  void jumped(const Branch& branch);

  void start(const Branch& branch, bool known_start, bool goes_on = false);
  // Where a call came from, and where it went; and as OpenCall.
  struct Way {
    std::uint64_t site = 0;
    std::uint64_t entry = 0;
    bool by_call = false;
    bool goes_on = false;
  };
  void push(const Located& function, CallEntry how, Way way);
  void enter_from_stub(const Located& function, std::uint64_t entry);
  void leave_resolver(const Located& function, std::uint64_t entry);
  // A call that has been counted for its path.
  void reopen(const Located& function, std::uint32_t node, CallEntry how, Way way);
  std::uint32_t unknown_caller();
  void open(const Located& function, std::uint32_t node, CallEntry how, Way way);
  // Removes the frames above `keep` frames.
  void cut(std::size_t keep, CallEnd how);
  // What was a stub or the dynamic linker's resolver leads to this function.
  void call_is(const Located& function, std::uint64_t entry, bool by_call);
  // The number of frames below the one that was entered at `address`, less up to an instruction's
  // length; frames_.size() if none was.
  std::size_t below_entry_from(std::uint64_t address) const;
  // The number of frames up to the uppermost one of `function`; 0 if there is none.
  std::size_t up_to(const Located& function) const;
  std::size_t up_to_in_jumps(const Located& function) const;
  // The same for what goes on at `to`, in `function`, without a call or a return to it. An
  // exception lands in the innermost call of that function which it can have come through, longjmp
  // in the innermost that has called setjmp there.
  std::size_t up_to_landing(const Located& function, std::uint64_t to, std::uint64_t time) const;
  // The same for an indirect jump into the middle of `function`, if that leaves the frames above.
  std::size_t up_to_left(const Located& function, const Branch& jump) const;
  // The same of one that was not jumped to.
  std::size_t up_to_entered() const;
  void leave_function();
  // The function on top is setjmp.
  void note_set_jump();
  auto has_set_jump() const {
    return [this](std::uint32_t level) {
      return level <= frames_.size() && frames_[level - 1].set_jump;
    };
  }
  void leave_for_nowhere(const Located& where, const Branch& branch);
  std::uint32_t top_node() const { return frames_.empty() ? thread_.root : frames_.back().node; }
  const Located& locate(std::uint64_t address, std::uint64_t time) {
    return functions_.at(space_, address, time);
  }

  Functions& functions_;
  CallPaths& paths_;
  ReturnSites& sites_;
  CallThread& thread_;
  const bool keeps_calls_;
  CallWatcher* watcher_ = nullptr;
  CallClock clock_;
  std::vector<Frame> frames_;
  std::vector<OpenCall> calls_;               // of the frames, if they are kept
  std::vector<std::uint32_t> nodes_of_span_;  // by number of the path in a summed span
  SetJumps set_jumps_;
  std::uint32_t space_ = 0;
  bool started_ = false;  // in this address space
  std::uint64_t last_time_ = 0;
  std::uint64_t last_loss_ = 0;  // number of the branch
  std::uint64_t step_ = 0;       // instructions from the branch before to the present one's own
  std::uint64_t ended_at_ = 0;   // where tracing stopped and may go on; 0: it has not
};

}  // namespace hodo::analyze
