// The calls of one thread that are open, and whether a return goes behind one of them.
//
// The stack pointer is not in a branch trace. What follows is therefore a model of what may happen
// to stacks, each part with the condition under which it holds:
//
// clang-format off
//   return          to the return address of the last open call.
//   signal          an asynchronous entry opens a frame that only sigreturn closes; the handler
//                   returns to code that does a sigreturn.
//   longjmp         an indirect jump behind a load of RSP, to where a setjmp of a call that is
//                   still open has returned to. Calls since then are closed.
//   unwinding       such a jump or return to a landing pad of a function that is open, as that function's
//                   exception table says.
//   planted label   such a jump or return to a label whose address is written down, of a function
//                   that is open or that a handler interrupted: __builtin_longjmp, the exceptions of
//                   OCaml. A return goes to the last open call that stands before the label, if there is one.
//   program start   a jump of the file that the kernel began with to another file's entry point,
//                   once.
//   interruption    a return behind POPF, to where a handler put a call in between.
//   other stacks    such a jump or return (swapcontext and its like) to the place where another
//                   stack of this thread was left, or to a function's start, which begins a new
//                   stack, or goes on in a call that is open, or where a signal interrupted one
//                   of them (a handler's context, or one that it exchanged for its own). A jump to a label of the switching code leaves it to the next return. A
//                   stack that began so ends with a return to a function's start (__start_context).
//                   A function that a jump led to may lie on top of a stack that was left, and
//                   returns there, or throws there (Boost's ontop_fcontext). What is open behind
//                   a return of code that adds a distance to RSP, and may have added 0, is a guess.
//   pushed target   a return right behind PUSH or MOV [RSP] that does not return is a jump, to a
//                   function or a label whose address is written down. Behind PUSH, also to a call
//                   that is open, whose return address the program has kept. Behind MOV [RSP], the last
//                   call only made room for the target and is closed (retpolines).
//   astray          behind a return that nothing explains, the stack pointer is in nobody knows
//                   what. Until a return goes behind a call that is open, each further one is as
//                   wrong.
//   planted return  to so far behind a function's start as a jump has pushed, where the calls are
//                   open that were open then.
//   arguments       behind data that lies behind the call, for the function that is called: it takes
//                   its return address off the stack or changes it.
//   unknown depth   where the trace begins in the middle or has a gap, nothing is known of the
//                   calls before; a return must then go behind some call of the text. Where not
//                   all of the process was seen, so does one from a function that a jump led to; and
//                   a stack may have begun by a switch, and end.
// clang-format on
//
// Several setjmps or frames can fit one jump, and several stacks one switch. The innermost frame
// and the stack that was left last are taken, the others kept as alternatives until a return
// decides (shadow_stack_choices.cc, of frames). Where several stacks fit, or other threads may have
// gone on with one, what was open when it was left is a guess: a return that contradicts it goes
// behind any call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/check/finding.h"
#include "path_facts.h"

namespace hodo::check {

// What is asked only where a branch is no plain return.
class Landings {
 public:
  virtual ~Landings() = default;
  // Whether an exception that passes through the call with this return address lands at `pad`.
  virtual bool lands(std::uint64_t return_address, std::uint64_t pad) const = 0;
  // Whether the call is one of the function that the label belongs to.
  virtual bool owns(std::uint64_t return_address, std::uint64_t label) const = 0;
  // Whether `to` lies behind data which the call with this return address has behind it for the
  // function that it calls.
  virtual bool is_behind_arguments(std::uint64_t /*return_address*/, std::uint64_t /*to*/) const {
    return false;
  }
  // Whether the bytes between both can be no code that the call goes on with, and the text goes on
  // at `to`.
  virtual bool is_behind_gap(std::uint64_t /*return_address*/, std::uint64_t /*to*/) const {
    return false;
  }
  // Whether `to` is behind a call, and so far behind a function's start.
  virtual bool is_planted(std::uint64_t /*to*/, std::uint64_t /*distance*/) const { return false; }
  // Whether the process has made the call that this return goes behind, as far as that is known.
  virtual bool was_called() const { return true; }
  // Whether the function that the label belongs to has left a stack by itself, as far as that is
  // known.
  virtual bool was_left(std::uint64_t /*label*/) const { return true; }
  // Whether all that the process did was seen, from its first instruction.
  virtual bool saw_all() const { return true; }
  // Whether nothing tells which function the label belongs to.
  virtual bool is_nobodys(std::uint64_t /*label*/) const { return false; }
  // Whether the call with this return address is one of code that was made at run time.
  virtual bool is_generated(std::uint64_t /*return_address*/) const { return false; }
  // Whether the branch is a return to what its own line has pushed, not to what it found.
  virtual bool goes_to_pushed() const { return false; }
};

class ShadowStack {
 public:
  struct Problem {
    Grade grade;
    std::string_view why;  // one sentence
  };
  using Verdict = std::optional<Problem>;

  // kToSetjmp tells that it will return twice.
  void call(std::uint64_t return_address, PathFacts facts = 0);
  Verdict ret(std::uint64_t to, PathFacts facts, const Landings* landings = nullptr);
  // A jump, or a return that is one, has led to a function that returns twice: for the call that is
  // open last.
  void enter_twice();
  // What a call has behind it for the function that it calls is skipped: the call that was open
  // last is closed, if that is the one. False: it is not.
  bool skip(std::uint64_t to, const Landings& landings);
  // Returns to `returned`, the innermost first, and calls that return to `called`, all as call()
  // and ret() would take them: returns with kToReturnSite or kUnjudged, and nothing that makes them
  // more than returns. False, and nothing is changed, where one does not go behind the call that is
  // open, if calls are known there, or ends one that returns twice, or a jump before left open what
  // it was.
  bool follow(std::span<const std::uint64_t> returned, std::span<const std::uint64_t> called);
  // The dynamic linker, which the kernel started, jumps to the entry point of the program. False:
  // it has done so before, or was not started.
  bool start_program();
  // An indirect jump that has kFromSwitch; others do not concern the stack.
  Verdict jump(std::uint64_t to, PathFacts facts, const Landings& landings);

  // An indirect jump that has kPlantsReturn: a return address is pushed that is so far behind some
  // function's start.
  void plant(std::uint64_t distance);

  // The thread leaves what is traced at a system call or an interruption. It goes on at `resume`,
  // or at `again` where the kernel repeats the call; kSigreturn tells a sigreturn.
  void leave(std::uint64_t resume, std::uint64_t again, PathFacts facts);
  // It leaves by a near branch, which a filter hides from here on.
  void leave_filter();
  // And is back.
  Verdict enter(std::uint64_t to, PathFacts facts, const Landings* landings = nullptr);

  // What it left by was a branch: it leads on, and was not away.
  void end_absence() { away_.reset(); }

  // While away by a sigreturn: where it leads if the handler did not change that. Else nullopt.
  std::optional<std::uint64_t> interrupted() const;

  // Nothing is known any more.
  void lose();
  // Whether every call that is open is known.
  bool knows_all() const { return current_.whole; }
  // Whether the thread is in a system call, or was interrupted, and would go on at `resume`.
  bool is_away_from(std::uint64_t resume) const { return away_ && away_->resume == resume; }
  // Whether the thread, which is away, comes back where neither its call nor a sigreturn leads: so
  // the kernel has a signal handled.
  bool is_put_elsewhere(std::uint64_t to) const {
    return away_ && !away_->sigreturn && !away_->filtered && to != away_->resume &&
           to != away_->again;
  }
  // The same calls are open in both, above the same depth.
  bool is_like(const ShadowStack& other) const {
    return current_.frames == other.current_.frames && current_.whole == other.current_.whole;
  }
  std::size_t depth() const { return current_.frames.size(); }

  struct Frame {
    std::uint64_t address = 0;  // of return; of a signal: where the program was interrupted
    bool signal = false;
    bool supposed = false;  // of a signal: a handler that another one put the thread into, or not
    bool twice = false;     // a call of a function that returns twice
    bool operator==(const Frame&) const = default;
  };
  // The innermost is last.
  std::span<const Frame> frames() const { return current_.frames; }
  // Whether a return went astray, and none has come back since.
  bool is_astray() const { return current_.astray != 0; }
  // Where the setjmps have returned to of calls that are open, the innermost last; at most `most`.
  std::vector<std::uint64_t> setjmps(std::size_t most) const;

 private:
  struct Mark {  // a setjmp that has returned
    std::uint64_t address = 0;
    std::size_t depth = 0;  // calls that were open: valid as long as they are
    // It was called by a function that returns twice, too, and has returned to here: who jumps to
    // `address` returns here, by a return address that the function had kept (musl's sigsetjmp). 0:
    // by none.
    std::uint64_t through = 0;
  };
  struct Planted {          // as plant() tells
    std::size_t depth = 0;  // calls that were open: valid as long as they are
    std::uint64_t distance = 0;
  };
  // Below `at` lie the calls that are open there, or no more than those of one of the others: a
  // jump was taken to end at `at`, or where returns have led to that since, and may have ended
  // there.
  struct Choice {
    std::size_t at = 0;
    std::vector<std::size_t> others;  // depths, ascending; less than `at` when `popped` was empty
    bool below = false;               // or calls that are not known
    std::vector<Frame> popped;        // since then, from `at`; of others, the same has to be
  };
  static constexpr std::size_t kNothing = ~std::size_t{0};
  struct Stack {
    std::vector<Frame> frames;
    std::vector<Mark> marks;       // by depth
    std::vector<Planted> planted;  // by depth, one each
    std::vector<Choice> choices;   // by `at`, all different
    // Calls below this depth are a guess.
    std::size_t guess = kNothing;
    bool shared = false;  // guessed since another thread may have gone on with it
    // A jump to a function at this depth may have begun another stack, or left calls that are open.
    std::size_t entry = kNothing;
    // A jump to a label that is nobody's at these depths may have left calls that are open.
    std::vector<std::size_t> labels;  // ascending
    bool vague = false;               // there were more marks or choices than are kept
    // Branches that nothing explained since a call that was open at the first of them went on.
    unsigned astray = 0;
    std::size_t known = 0;  // how many calls were open then
    bool whole = false;     // below the first frame there is none
    bool begun = false;     // by a switch to a function's start
  };
  struct Away {
    std::uint64_t resume = 0;
    std::uint64_t again = 0;
    bool sigreturn = false;
    bool filtered = false;
  };

  // Deeper than any stack of the kernel's default size can be with the smallest frames; the oldest
  // calls are forgotten beyond it.
  static constexpr std::size_t kDeepest = std::size_t{1} << 20;
  static constexpr std::size_t kMostParked = 1024;

  void push(Frame frame);
  void pop();
  void remember(std::uint64_t address, std::uint64_t through = 0);
  void return_twice(std::uint64_t to);
  void cut(std::size_t depth);
  void reset(bool whole);
  void park();
  // That one goes on, and the current one waits.
  void take_up(std::vector<Stack>::iterator parked);
  bool long_jump(std::uint64_t to);
  bool land(std::uint64_t to, const Landings& landings);
  bool land_elsewhere(std::uint64_t to, const Landings& landings);
  enum class ToLabel : std::uint8_t { by_jump, by_return };
  bool go_to_label(std::uint64_t to, PathFacts facts, const Landings& landings, ToLabel how);
  bool is_of_waiting(std::uint64_t label, const Landings& landings) const;
  void leave_for_label();
  bool return_behind_label(std::uint64_t to);
  void choose(std::size_t depth, std::vector<std::size_t> others);
  void add_choice(Choice choice);
  void join_last();
  bool is_choice() const;
  void settle();
  void add_older(std::size_t end, std::vector<std::size_t>& depths, bool& below) const;
  bool narrow(auto&& fits, std::size_t closed);
  void close_in_all(const Frame& last);
  bool resume_stack(std::uint64_t to, PathFacts facts);
  bool resume_behind_gap(std::uint64_t to, PathFacts facts, const Landings& landings);
  bool split_stack(std::uint64_t to, PathFacts facts);
  bool resume_handled(std::uint64_t to);
  bool end_waiting_handler(std::uint64_t to, PathFacts facts);
  void leave_above(std::size_t depth);
  bool is_discarded(std::size_t depth, const Landings* landings) const;
  void guess(PathFacts facts);
  bool may_end() const;
  bool take_alternative(std::uint64_t to, PathFacts facts);
  bool may_have_ended_below();
  bool take_other_stack(std::uint64_t to);
  bool is_nothing_known_below() const;
  std::size_t like_consumed(const Stack& stack, std::uint64_t to) const;
  bool may_end_handler(PathFacts facts, const Landings* landings) const;
  Verdict switch_to(std::uint64_t to, PathFacts facts, const Landings* landings);
  Verdict mismatch(std::uint64_t to, PathFacts facts, const Landings* landings);
  bool resume_interrupted(std::uint64_t to);
  bool return_to_kept(std::uint64_t to, PathFacts facts);
  bool return_to_planted(std::uint64_t to, PathFacts facts, const Landings& landings);
  bool contradicts_guess(PathFacts facts, const Landings* landings);
  Verdict at_unknown_depth(PathFacts facts, const Landings* landings);
  Verdict nowhere(std::string_view why);
  bool comes_back(std::size_t depth);
  bool leave_supposed(std::uint64_t to);
  // `again`: where its own system call is.
  Verdict after_sigreturn(std::uint64_t to, std::uint64_t again, PathFacts facts,
                          const Landings* landings);
  Verdict put_by_handler(std::uint64_t to, std::uint64_t interrupted, PathFacts facts,
                         const Landings* landings);
  bool take_turn(std::uint64_t to, std::uint64_t interrupted, PathFacts facts);
  bool is_of_open(std::uint64_t label, std::uint64_t interrupted, const Landings& landings) const;
  void keep_marks_of_handler();

  Stack current_;
  std::vector<Stack> parked_;  // the one that was left last is last
  // Of the stack that a switch went to: the frames that were closed since, and what is left of it.
  std::vector<std::uint64_t> consumed_;
  std::size_t floor_ = 0;
  bool starting_ = false;   // the kernel began with a file, which may hand over to another one
  bool unsettled_ = false;  // a jump may have left the stack; the next return says for which
  // A guess was wrong: of the stacks that were left, one has gone on and is among them yet, another
  // is not known any more.
  bool mistaken_ = false;
  bool takes_turns_ = false;  // a handler has exchanged the context of one stack for another's
  // A switch has led to the end of the handler at this depth, or of one that waits on another
  // stack.
  std::size_t exchanged_ = kNothing;
  std::optional<Away> away_;
};

}  // namespace hodo::check
