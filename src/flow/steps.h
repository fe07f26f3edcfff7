// The code as a graph of steps: each from an address through everything that needs no packet to the
// next branch that needs one.
//
// This is what lies beneath all that is remembered. A step takes 16 bytes, its successors are
// numbers of other steps, and an outcome costs one load and one increment: four steps to a cache
// line, so that the code of large programs stays in the second cache, where the paths through it do
// not.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block_cache.h"
#include "call_log.h"
#include "hodo/flow/decoder.h"
#include "hodo/flow/transfers.h"
#include "learned_stretches.h"
#include "link.h"
#include "output.h"
#include "passage_log.h"
#include "step_pairs.h"
#include "supersteps.h"

namespace hodo::flow {

struct alignas(16) Step {
  std::array<Link, 2> next = {kNoLink, kNoLink};  // by the outcome
  std::array<std::uint32_t, 2> count{};           // times each was taken
};
static_assert(sizeof(Step) == 16);
// Of Shape::packet, count[0] is how often it was executed, and next[0] the list of where it led
// (StepPairs), for those who want edges. Where branches are written nothing is counted, and where
// jumps are left out, the counts are what `leaving` says, by the outcome, of Shape::packet
// count[0]. Where passages are written, they are what `judging` says, of Shape::packet count[0],
// and next[0] is the list of the steps that its branch may pass to.

// What becomes of a step's branches where a sink leaves jumps out: one word, so that an outcome
// costs no look at anything but its step. 0: nobody has asked.
namespace leaving {
// All of them are left out: a word of which some 64 can be added up.
inline constexpr std::uint32_t kAll = std::uint32_t{1} << 31;
inline constexpr unsigned kInsnBits = 16;
inline constexpr unsigned kJumpsShift = 22;  // direct ones on the way
inline constexpr unsigned kJumpBits = 3;
inline constexpr unsigned kOutcomesShift = 31;
inline constexpr std::uint32_t kMostInsns = (std::uint32_t{1} << kInsnBits) - 1;
inline constexpr std::uint32_t kMostJumps = (std::uint32_t{1} << kJumpBits) - 1;
// What can be added up of a word with it, if no calls are on the way.
constexpr std::uint32_t addend(std::uint32_t word) {
  return word & (kMostInsns | kMostJumps << kJumpsShift);
}
constexpr std::uint32_t insns(std::uint64_t sum) {
  return static_cast<std::uint32_t>(sum & ((std::uint64_t{1} << kJumpsShift) - 1));
}
constexpr std::uint32_t jumps(std::uint64_t sum) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << (kOutcomesShift - kJumpsShift)) - 1;
  return static_cast<std::uint32_t>(sum >> kJumpsShift & kMask);
}
constexpr std::uint32_t outcomes(std::uint64_t sum) {
  return static_cast<std::uint32_t>(sum >> kOutcomesShift);
}
// Else they are a row of the book, with this number.
inline constexpr std::uint32_t kTold = std::uint32_t{1} << 30;
constexpr std::uint32_t row(std::uint32_t word) { return word & (TransferBook::kMost - 1); }
// It leads into other code without a branch: the next one comes by itself.
inline constexpr std::uint32_t kNextComes = std::uint32_t{1} << 29;
// They are written one by one, if there are any.
inline constexpr std::uint32_t kWritten = std::uint32_t{1} << 28;
// With BranchSink::wants_lines(): it has not run since forget_ran(). kAll and kTold are gone
// meanwhile, so that who looks for one of them need not ask, and this says which it was.
inline constexpr std::uint32_t kSleeps = std::uint32_t{1} << 27;
inline constexpr std::uint32_t kSleepingAll = std::uint32_t{1} << 26;
constexpr std::uint32_t asleep(std::uint32_t word) {
  if (word == 0 || (word & kSleeps) != 0) return word;
  return (word & ~(kAll | kTold)) | kSleeps | ((word & kAll) != 0 ? kSleepingAll : 0);
}
constexpr std::uint32_t awake(std::uint32_t word) {
  if ((word & kSleeps) == 0) return word;
  const std::uint32_t rest = word & ~(kSleeps | kSleepingAll);
  if ((word & kSleepingAll) != 0) return rest | kAll;
  return rest | ((word & kWritten) != 0 ? 0 : kTold);
}
}  // namespace leaving

// What becomes of a step's branches where a sink judges them (BranchSink::wants_passages).
namespace judging {
// All of them pass: the rest is a sum as `leaving` has it, which calls are in for their
// instructions alone.
inline constexpr std::uint32_t kPasses = leaving::kAll;
inline constexpr std::uint32_t kComes = std::uint32_t{1} << 30;
// Of Shape::packet, in count[0]: its return passes wherever one passes (passes_apart). In that of
// any step: returns to it do.
inline constexpr std::uint32_t kReturnsApart = std::uint32_t{1} << 29;
inline constexpr std::uint32_t kReturnedTo = std::uint32_t{1} << 28;
inline constexpr std::uint32_t kOfReturns = kReturnsApart | kReturnedTo;
constexpr bool passes(std::uint32_t what) { return (what & kPasses) != 0; }
constexpr bool is_asked(std::uint32_t what) { return (what & (kPasses | kComes)) != 0; }
}  // namespace judging

// Where calls are summed up by path (SummedSpan), a plain call is the last branch on the way, and
// the word says all that its sum comes to: behind it as ever, and up to it in the bits that
// leaving::kAll leaves free.
namespace summed_call {
inline constexpr unsigned kInsnsShift = leaving::kInsnBits;
inline constexpr std::uint32_t kMostInsns = (1 << 12) - 1;
inline constexpr unsigned kJumpsShift = 28;
inline constexpr std::uint32_t kUpToIt = kMostInsns << kInsnsShift | leaving::kMostJumps
                                                                         << kJumpsShift;
static_assert((kUpToIt & (leaving::kAll | leaving::kMostInsns)) == 0);
constexpr std::uint32_t word(std::uint32_t insns, std::uint32_t jumps, std::uint32_t behind) {
  return leaving::kAll | jumps << kJumpsShift | insns << kInsnsShift | behind;
}
constexpr std::uint32_t sum(std::uint32_t word) {
  return (word >> kInsnsShift & kMostInsns) | (word >> kJumpsShift & leaving::kMostJumps)
                                                  << leaving::kJumpsShift;
}
}  // namespace summed_call

// What a branch is to the open calls: below the callee's number.
namespace following {
inline constexpr unsigned kCalleeShift = 8;
inline constexpr std::uint32_t kStub = 1 << 7;
inline constexpr std::uint32_t kNoted = 1 << 5;     // CallOp::noted
inline constexpr std::uint32_t kByTarget = 1 << 6;  // call_target() says it
constexpr CallOp::Kind kind(std::uint32_t what) { return static_cast<CallOp::Kind>(what & 0xf); }
constexpr std::uint32_t callee(std::uint32_t what) { return what >> kCalleeShift; }
}  // namespace following

// What a step does to the return stack. It lies in the place of the next one.
struct alignas(16) Tail {
  enum class End : std::uint8_t { outcome, ret, indirect, call };
  static constexpr std::size_t kMostCalls = (1 << 6) - 1;

  std::uint64_t returns = 0;  // one call: its return address; several: the first's place in calls()
  Link link = kNoLink;        // one call: the step there
  std::uint16_t way = 0;      // with leaving::kAll, up to the last branch on the way (on_the_way)
  std::uint8_t opened = 0;    // likewise, calls that nobody has counted yet
  std::uint8_t calls : 6 = 0;  // at the end of type `call` with that one
  End end : 2 = End::outcome;
};
static_assert(sizeof(Tail) == sizeof(Step));

// The callee of a plain call is in the place of these two where calls are summed up, and whether it
// is noted (CallOp).
namespace summed_call {
inline constexpr unsigned kNotedShift = 23;
inline constexpr std::uint32_t kCallee = (std::uint32_t{1} << kNotedShift) - 1;
static_assert(CallOp::kMostCallees <= kCallee + 1);
constexpr std::uint32_t callee(const Tail& tail) {
  return tail.way | std::uint32_t{tail.opened} << 16;
}
inline void set_callee(Tail& tail, std::uint32_t callee, bool noted) {
  tail.way = static_cast<std::uint16_t>(callee);
  tail.opened = static_cast<std::uint8_t>(callee >> 16 | (noted ? 1u << (kNotedShift - 16) : 0));
}
}  // namespace summed_call

// Tail::way: what of a word's sum lies before the step's last branch on the way, where a plain call
// and nothing else but jumps within functions are on it. The call itself is in no sum.
namespace on_the_way {
inline constexpr unsigned kInsnBits = 13;
inline constexpr std::uint32_t kMostInsns = (std::uint32_t{1} << kInsnBits) - 1;
constexpr std::uint16_t packed(std::uint32_t insns, std::uint32_t jumps) {
  return static_cast<std::uint16_t>(insns | jumps << kInsnBits);
}
constexpr std::uint32_t sum(std::uint16_t way) {
  return (way & kMostInsns) | std::uint32_t{way} >> kInsnBits << leaving::kJumpsShift;
}
}  // namespace on_the_way

union StepOrTail {
  StepOrTail() : step() {}
  Step step;
  Tail tail;
};

class StepGraph final : public Passages::Reader {
 public:
  // `blocks` must outlive the graph.
  explicit StepGraph(BlockCache& blocks);

  struct Call {
    std::uint64_t returns = 0;
    Link link = kNoLink;
  };

  // What branches a step is: those on the way and the one at its end.
  struct alignas(32) Shown {
    std::uint64_t at = 0;     // of the branch at the end
    std::uint64_t to = 0;     // where a conditional one leads
    std::uint32_t tail = 0;   // instructions behind the last one on the way, with it
    std::uint32_t edges = 0;  // of the first on the way in edges_
    std::uint16_t edge_count = 0;
    BranchKind kind = BranchKind::cond;
    std::uint8_t flags = 0;
    std::uint32_t row = 0;  // of the book, for one of the outcomes; 0: nobody has told it
  };
  static_assert(sizeof(Shown) == 32);

  // Whether what is known of the code holds at this time, too.
  bool holds_at(std::uint64_t time) const { return window_.from <= time && time < window_.until; }
  // Before anything else is asked: what follows is of this time and mode. True: links that were
  // given before are void.
  bool move_to(std::uint64_t time, isa::Mode mode);

  // The step at an address; kNoLink: there is none, or one that only the walker can judge. Steps
  // may move.
  Link find(std::uint64_t ip) {
    const Front& front = front_[front_slot(ip)];
    return front.ip == ip ? front.link : look(ip);
  }
  // As find(), but kNoLink if nobody has been there.
  Link known(std::uint64_t ip) const;
  // The same of where a call of a step returns to that the step's tail is to keep.
  Link known_return(const Tail& tail, std::uint64_t returns);
  // Finds the step behind an outcome, and makes it the successor.
  Link resolve(Link from, bool taken);

  StepOrTail* steps() { return steps_.data(); }
  std::span<Call> calls(const Tail& tail) {
    return std::span(calls_).subspan(static_cast<std::size_t>(tail.returns), tail.calls);
  }
  const Shown& shown(Link link) const { return shown_[number_of(link)]; }
  // On the way, without time.
  std::span<const Branch> edges(const Shown& shown) const {
    return std::span(edges_).subspan(shown.edges, shown.edge_count);
  }
  std::uint64_t ip_of(Link link) const { return details_[number_of(link)].ip; }
  // Where the branch leads that an outcome decides.
  std::uint64_t outcome_ip(Link link, bool taken) const;

  // Asks the sink whether it leaves a step's branches out with this outcome, and puts them into the
  // book if not. `exact`: nor those of which the word does not say where the last one was, and it
  // is awake. With a judge, a plain call or return is left out, too: who goes over the step follows
  // it.
  void ask(Link link, bool taken, const BranchSink& sink, bool exact,
           const CallJudge* judge = nullptr);
  // What a branch of the book does to the open calls, if a judge has said so.
  struct CallStep {
    std::uint64_t returns = 0;  // of a call
    std::uint32_t what = 0;     // following::
    std::uint16_t insns = 0;    // of the row, with the branch
    std::uint16_t own = 0;      // since the branch before it in the row
  };
  // What a row of the book comes to. The steps of its other branches lie behind it.
  struct alignas(32) Told {
    static constexpr std::uint16_t kMustCome = 0xfffe;
    static constexpr std::uint16_t kUnasked = 0xffff;
    static constexpr std::size_t kMostBranches = 15;

    std::uint32_t insns = 0;  // with those behind the last branch
    std::uint32_t tail = 0;   // behind the last branch
    std::uint8_t jumps = 0;   // direct ones on the way,
    std::uint8_t calls = 0;   // and calls
    BranchKind end = BranchKind::cond;
    std::uint8_t branches = 0;
    std::uint16_t ops = kUnasked;  // which branches do something to open calls, as bits
    CallStep step;                 // of the first branch
  };
  const Told& told(std::uint32_t row) const { return told_[row]; }
  std::shared_ptr<const TransferBook> book() const { return book_; }

  // Following calls (call_steps.cc). Answers of another judged_by() are forgotten; false while they
  // change so often that to ask anew would take longer than they save.
  bool may_judge_calls(std::uint64_t number);
  void followed_bytes(std::size_t bytes) { waited_ += bytes; }
  // Told::ops of a row, which `judge` is asked for once. It may be null: who was not asked about
  // has to come.
  std::uint32_t ops(std::uint32_t row, const CallJudge* judge) {
    const std::uint32_t known = told_[row].ops;
    if (known != Told::kUnasked) [[likely]]
      return known;
    return judge == nullptr ? Told::kMustCome : judge_calls(row, *judge);
  }
  // CallStep::what of a row's last branch where it leads to `to`.
  std::uint32_t call_target(std::uint32_t row, std::uint64_t to, const CallJudge& judge) {
    const CallTarget& last = targets_[row];
    return last.to == to ? last.what : look_for_target(row, to, judge);
  }
  std::uint32_t function_of(std::uint32_t callee) const { return functions_[callee]; }
  // Whether calls of it are told one by one (CallOp::single): no step calls it plainly.
  bool is_single(std::uint32_t callee) const { return singles_[callee] != kNotSingle; }
  // One has been told. Now and then the judge is asked again, by settle_singles().
  void told_single(std::uint32_t callee) {
    constexpr std::uint8_t kBetween = 64;
    std::uint8_t& left = singles_[callee];
    if (--left != 0) return;
    left = kBetween;
    asks_again_.push_back(callee);
  }
  // Steps are then asked anew: nobody may be in the middle of one that is left out.
  void settle_singles(const CallJudge& judge) {
    if (!asks_again_.empty()) [[unlikely]]
      ask_about_singles(judge);
  }
  PassedCounts& passed() { return passed_; }
  // Those in passed(), and of steps' plain calls.
  void take_passed(std::vector<PassedCalls>& out) {
    settle_opened();
    passed_.take(out);
  }
  // Of a step with a plain call on the way: the call, and that it was made.
  struct PlainCall {
    std::uint32_t at = 0;   // in the book
    std::uint32_t nth = 0;  // branch of the step
    const CallStep& step;
  };
  PlainCall plain_call(Link link) const {
    const std::uint32_t row = shown(link).row;
    const auto nth = static_cast<std::uint32_t>(std::countr_zero(told_[row].ops));
    return {row + nth, nth, told_[row + nth].step};
  }
  void opened(Tail& tail, Link link) {
    if (++tail.opened <= 1) [[unlikely]]
      note_opened(tail, link);
  }

  // Whether the step has code in a unit (kCodeUnitBits) of which none has run since forget_ran(),
  // for who asks whenever a word wakes.
  bool runs_first(Link link);
  void wake(Link link, bool taken) {
    std::uint32_t& word = steps_[number_of(link)].step.count[taken ? 1 : 0];
    word = leaving::awake(word);
    awake_.push_back(number_of(link) << 1 | (taken ? 1 : 0));
  }
  void forget_ran();
  // How often forget_ran() has been called.
  std::uint32_t round() const { return rounds_; }
  // Puts the units of a step's code behind those of `out` that are not there yet.
  void append_units(Link link, std::vector<LearnedUnit>& out);
  bool unit_runs_first(std::uint32_t unit) { return ran_first(unit); }
  // The lines of code that the step's branches end, whatever the outcome.
  void append_lines(Link link, std::vector<CodeLine>& out) const;

  // Asks the sink whether a step's branches pass with this outcome; of Shape::packet, without the
  // one at its end.
  void judge(Link link, bool taken, BranchSink& sink);
  // Whether the branch at the end passes that leads to another step, as far as it is known; and
  // when the sink is asked.
  bool is_known_to_pass(const Step& from, Link to) const {
    return pairs_.has(from.next[0], number_of(to));
  }
  bool passes(Link from, Link to, BranchSink& sink);
  // Forgets what a sink said, unless it goes by the same.
  void judge_by(std::uint64_t number) {
    if (judged_by_ != number) forget_judged(number);
  }
  void forget_judged(std::uint64_t number);
  // As long as links are what they were; with keep_in_place() in any thread, while others go on.
  void append(const Passages& batch, std::span<const Passages::Entry> entries, std::uint64_t insns,
              std::uint64_t time, std::vector<Branch>& out) const override;
  // Instructions since the last branch behind these entries; `before` have run before them.
  std::uint64_t insns_behind(std::span<const Passages::Entry> entries,
                             std::span<const Link> returns, std::uint64_t before) const;

  // What is known of stretches of packets where jumps are left out; null: links are so young that
  // it is not worth it, as fewer bytes have been followed by them.
  template <bool kExact>
  LearnedStretches<kExact>* learned(std::size_t bytes) {
    if (stepped_ < bytes) return nullptr;
    auto& out = std::get<std::unique_ptr<LearnedStretches<kExact>>>(learned_);
    if (out == nullptr) out = std::make_unique<LearnedStretches<kExact>>();
    return out.get();
  }
  void stepped(std::size_t bytes) { stepped_ += bytes; }

  Supersteps& supersteps() { return supersteps_; }
  // The superstep from a step over outcomes, the next one the highest bit; false: it leads to where
  // nobody has been.
  bool learn(Superstep& at, Link from, std::uint8_t outcomes);
  // The same where words are summed up, as far as they are there. False: none is.
  Supersteps& summed_supersteps() { return summed_supersteps_; }
  bool learn_summed(Superstep& at, Link from, std::uint8_t outcomes) const;

  // A branch with a packet of its own, or a compressed return, went from one step to another.
  void went(Link from, Link to) {
    pairs_.count(steps_[number_of(from)].step.next[0], number_of(to), time_);
  }

  // So many outcomes and packets were followed, at most; before it is full, or could have counted
  // too far, it has to be settled.
  void followed(std::uint64_t most) { uncounted_ += most; }
  bool full() const { return full_ || pairs_.full(); }
  bool counted_out() const { return uncounted_ >= kMostCounted; }
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;

  // Whoever is told of edges is told when they were executed first. From here on that is known; if
  // it was not, all else is forgotten.
  void want_times() {
    if (!std::exchange(has_times_, true)) clear();
  }
  // What has been counted, and nothing is counted any more.
  void settle(Stats& stats, const Receivers& to);
  void clear();
  // From here on nothing that append() reads is moved any more.
  void keep_in_place();

 private:
  static constexpr std::size_t kMostSteps = 1 << 19;
  static constexpr std::size_t kMostEdges = 1 << 20;  // on the way, and calls
  static constexpr std::size_t kManySteps = 1 << 15;  // of little code there are fewer
  static constexpr std::size_t kFewSteps = 1 << 12;   // fewer are not worth being rid of
  static constexpr std::size_t kMostGone = 4;         // for each that can be found
  static constexpr std::uint64_t kMostCounted = std::uint64_t{3} << 30;
  static constexpr std::size_t kLeastSize = 1 << 10;
  static constexpr std::size_t kFrontSize = 1 << 13;
  static constexpr unsigned kMostBlocks = 64;
  static_assert(kMostBlocks <= PassageLog::kMostCalls);

  struct Detail {
    std::uint64_t ip = 0;
    std::uint32_t insns = 0;     // with the branch at the end
    std::uint32_t validity = 0;  // in validities_
    std::uint32_t sources = 0;   // in sources_: the steps that may link to it
    std::uint8_t last_size = 0;  // 0: this is no step
    isa::InsnClass cls = isa::InsnClass::other;
    isa::Mode mode = isa::Mode::bits64;
    bool has_tail = false;
  };
  // When a step was executed first, and with each outcome.
  struct Times {
    std::uint64_t any = 0;
    std::array<std::uint64_t, 2> outcome = {~std::uint64_t{0}, ~std::uint64_t{0}};
  };
  struct Place {
    std::uint64_t ip = 0;
    Link link = kNoLink;
    isa::Mode mode = isa::Mode::bits64;
  };
  struct Front {
    std::uint64_t ip = 0;
    Link link = kNoLink;
  };
  // A step that links to another one; those to the same one are a list.
  struct Source {
    std::uint32_t from = 0;  // number
    std::uint32_t next = 0;  // in sources_; 0: none
  };
  // A step that is to go, as its code will have changed.
  struct Ending {
    std::uint64_t until = 0;
    std::uint64_t ip = 0;
    Link link = kNoLink;
    isa::Mode mode = isa::Mode::bits64;
    bool operator>(const Ending& other) const { return until > other.until; }
  };
  class Walk;
  template <class Visit>
  void each_step(const PassedRow& row, std::span<const Link> returns, Visit visit) const;
  // Of a step with calls on the way.
  BranchSink::Judged judge_on_the_way(std::uint32_t number, BranchSink& sink) const;
  static std::size_t front_slot(std::uint64_t ip) { return (ip ^ (ip >> 13)) & (kFrontSize - 1); }
  static std::uint64_t hash_of(std::uint64_t ip, isa::Mode mode) {
    return (ip ^ static_cast<std::uint64_t>(mode) << 62) * 0x9e3779b97f4a7c15u;
  }
  Link look(std::uint64_t ip);
  Link build(std::uint64_t ip);
  Link add(const Walk& walk, std::uint64_t ip);
  void add_place();
  void make_room();
  std::uint32_t add_validity();
  void insert(const Place& place);
  void grow();
  void add_ending(const Place& place);
  void note_source(Link to, std::uint32_t from);
  void drop_outdated();
  void drop_ended();
  void erase(std::uint64_t ip, isa::Mode mode);
  void drop_outdated_links(std::size_t n);
  void count(const Superstep& superstep);
  bool is_valid(Link link) const;
  bool is_left_out(Link link, bool taken, const BranchSink& sink) const;
  bool on_the_way_is_left_out(const Shown& shown, std::uint64_t line, const BranchSink& sink) const;
  std::uint32_t tell(Link link, bool taken);

  class Settling;
  BlockCache& blocks_;
  std::uint64_t time_ = 0;
  isa::Mode mode_ = isa::Mode::bits64;
  // All steps that can be found are valid in it. It ends when the next of them goes.
  BlockCache::Validity window_;
  std::vector<StepOrTail> steps_;
  std::vector<Detail> details_;  // by number
  std::vector<Shown> shown_;     // by number
  std::vector<Times> times_;     // by number, if has_times_
  bool has_times_ = false;
  std::vector<Branch> edges_;  // those on the way, without time
  std::vector<Call> calls_;
  std::vector<BlockCache::Validity> validities_;
  std::vector<Source> sources_;  // of steps that will go
  std::vector<Ending> endings_;  // a heap, the next one first
  std::vector<Place> table_;     // open addressing, at most three quarters full
  unsigned shift_ = 0;
  std::size_t place_count_ = 0;
  std::vector<Front> front_;
  StepPairs pairs_;
  Supersteps supersteps_;
  Supersteps summed_supersteps_;
  std::uint64_t uncounted_ = 0;
  bool full_ = false;
  std::vector<EdgeCount> edge_counts_;
  std::vector<RunCount> run_counts_;
  std::optional<std::uint64_t> judged_by_;  // nothing: nobody
  std::shared_ptr<TransferBook> book_;
  std::vector<Told> told_;  // by row of the book
  struct CallTarget {
    std::uint64_t to = 0;
    std::uint32_t row = 0;
    std::uint32_t what = 0;
  };
  static constexpr std::size_t kOtherTargets = std::size_t{1} << 12;
  void forget_calls(std::uint64_t number);
  void forget_plain_steps();
  void forget_learned();
  std::uint32_t look_for_target(std::uint32_t row, std::uint64_t to, const CallJudge& judge);
  std::uint32_t call_word(const CallOp& op);
  std::uint16_t judge_calls(std::uint32_t row, const CallJudge& judge);
  void note_returns(Link link, std::uint32_t row);
  std::uint64_t calls_judged_by_ = 0;  // 0: nobody
  std::uint64_t waits_for_ = 0;        // the number that may_judge_calls() was asked about last,
  std::size_t waited_ = 0;             // and for how many bytes of trace
  std::vector<CallTarget> targets_;    // by row: where its last branch led last
  std::vector<CallTarget> other_targets_;  // and before, by row and address
  std::vector<std::uint32_t> functions_;   // by callee
  PassedCounts passed_;
  // By callee: kNotSingle, or how many more are told before the judge is asked again.
  static constexpr std::uint8_t kNotSingle = 0;
  std::vector<std::uint8_t> singles_;
  std::vector<std::uint32_t> asks_again_;
  // By callee that is single: words of steps that would call it plainly, as `awake_` has them.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> not_plain_;
  void ask_about_singles(const CallJudge& judge);
  void settle_opened();
  void note_opened(const Tail& tail, Link link);
  std::uint32_t plain_step(Link link, bool taken, std::uint32_t row, bool exact,
                           const CallJudge& judge);
  std::vector<std::uint32_t> opened_;  // numbers of steps with Tail::opened
  // Which units a step's code lies in: a number, or behind kSeveral where they begin in
  // unit_lists_, the last of which has it, too.
  static constexpr std::uint32_t kNoUnit = 0;
  static constexpr std::uint32_t kSeveral = std::uint32_t{1} << 31;
  std::uint32_t units_of(Link link);
  bool ran_first(std::uint32_t unit) { return std::exchange(ran_[unit], round_) != round_; }
  // Of code as it is in one span of time.
  struct Unit {
    std::uint64_t number = 0;  // address >> kCodeUnitBits
    BlockCache::Validity validity;
    bool operator==(const Unit&) const = default;
  };
  struct UnitHash {
    std::size_t operator()(const Unit& unit) const {
      const std::uint64_t h = (unit.number ^ unit.validity.from << 20) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  std::uint32_t number_of_unit(const Unit& unit);
  std::unordered_map<Unit, std::uint32_t, UnitHash> unit_numbers_;
  std::vector<CodeLine> lines_of_step_;  // for units_of()
  std::vector<std::uint32_t> units_of_step_;
  std::vector<std::uint32_t> unit_lists_;
  std::vector<std::uint32_t> units_;  // by number of the step; kNoUnit: nobody has asked
  std::vector<std::uint8_t> ran_;     // by unit: in which round last
  std::vector<std::uint32_t> awake_;  // words: twice the step's number, + 1 if taken
  std::uint8_t round_ = 1;
  std::uint32_t rounds_ = 0;
  std::tuple<std::unique_ptr<LearnedStretches<false>>, std::unique_ptr<LearnedStretches<true>>>
      learned_;
  std::size_t stepped_ = 0;  // bytes since forget_learned()
};

}  // namespace hodo::flow
