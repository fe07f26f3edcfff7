// The calls of all threads as slices of rows, in bounded memory: what timelines are drawn from.
//
// As long as there is room each call is a slice of its own. Then what lies close together is
// merged: neighbours of a row that together are no longer than a grain, which grows as it must.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hodo/analyze/call_slices.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/analyze/process_spaces.h"
#include "hodo/ask/walk.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

// A place on both axes.
struct Place {
  std::uint64_t time = 0;          // nanoseconds of the recording's clock; 0: none known yet
  std::uint64_t instructions = 0;  // of the thread
};

struct Slice {
  static constexpr std::uint32_t kMerged = ~std::uint32_t{0};
  Place from, to;
  std::uint64_t branch = 0;  // ask::Moment::branch before the first call's first instruction
  std::uint32_t name = 0;    // index in Overview::names; kMerged: calls of several functions
  std::uint32_t count = 1;   // calls in it
  bool open = false;         // it has no end that is known
};

enum class MarkKind : std::uint8_t { lost, signal, exec, sample };

struct Mark {
  MarkKind kind = MarkKind::lost;
  Place at;
  std::uint64_t branch = 0;
};

// What is merged: no longer than this on either axis.
struct Grain {
  std::uint64_t time = 0;  // both 0: nothing is
  std::uint64_t instructions = 0;
};

// A call path of a thread.
struct StackNode {
  std::uint32_t name = 0;          // as Slice::name; of the first node nothing
  std::uint32_t parent = 0;        // a node before this one; of the first node itself
  std::uint64_t calls = 0;         // times that it was entered
  std::uint64_t instructions = 0;  // in itself
  std::uint64_t time = 0;          // in itself, nanoseconds
  std::uint64_t first = 0;         // as Slice::branch, of the first time
};

struct Lane {
  ThreadTotal total;
  std::vector<StackNode> nodes{StackNode{}};  // the first one is the thread; parents come first
  std::uint64_t other_instructions = 0;       // in paths that there was no room for
  std::uint64_t other_time = 0;
  std::vector<std::vector<Slice>> rows;  // by depth, each in order
  std::vector<Mark> marks;               // in order
  std::uint64_t deeper = 0;              // calls that are in no row
  std::uint64_t more_marks = 0;          // that are not kept
};

// A time in which one thread ran on a processor, and nothing else that was recorded.
struct ProcessorTurn {
  Slice slice;              // name: index in Overview::lanes; instructions are the processor's
  std::uint64_t begin = 0;  // instructions of the thread before the first
};

// Of a recording that has a trace for each processor.
struct Processor {
  static constexpr std::size_t kMostTurns = std::size_t{1} << 18;  // of all
  std::int32_t cpu = -1;
  Place end;                         // of the last branch
  std::uint64_t branches = 0;        // those not taken left out
  std::vector<ProcessorTurn> turns;  // in order
};

struct SliceName {
  std::string name;    // raw
  std::string object;  // path, raw
};

struct Overview {
  static constexpr std::size_t kMostSlices = std::size_t{1} << 20;
  static constexpr std::size_t kMostRows = 1024;
  static constexpr std::size_t kMostMarks = 1 << 14;               // of a lane
  static constexpr std::size_t kMostNodes = std::size_t{1} << 20;  // of all lanes

  std::vector<Lane> lanes;  // in the order of ask::walk
  std::vector<Processor> processors;
  analyze::ProcessSpaces spaces;  // where there are processors
  std::vector<SliceName> names;
  Grain grain;
  std::vector<session::LossLine> losses;
};

// Merges neighbours that fit into a grain.
void merge(std::vector<Slice>& row, const Grain& grain);
bool fits(const Slice& first, const Slice& last, const Grain& grain);
void take_in(Slice& into, const Slice& next);

// The slices that are still kept, for all lanes together: when there are too many, the grain grows
// and all are merged anew.
class SliceRoom {
 public:
  explicit SliceRoom(std::size_t most) : most_(most) {}
  const Grain& grain() const { return grain_; }
  void count_one() { ++used_; }
  bool full() const { return used_ > most_; }
  // Makes room in these.
  void grow(const std::vector<Lane*>& lanes);

 private:
  std::size_t most_;
  std::size_t used_ = 0;
  Grain grain_;
};

// Sums up a thread's call paths.
class StackCounter {
 public:
  static constexpr std::uint32_t kNoRoom = ~std::uint32_t{0};
  // `room`: nodes that may still be made, by all counters together. Both must outlive this.
  StackCounter(Lane& lane, std::size_t& room) : lane_(lane), room_(room) {}

  // Whether what is entered from now on counts as a call.
  void set_counting(bool counting) { counting_ = counting; }
  // What is executed until the next call of another member but this.
  void count(std::uint64_t instructions, std::uint64_t time, bool at_root);
  void push(std::uint32_t name, std::uint64_t branch);
  void push_stub() { stack_.push_back(stack_.back()); }
  void pop() { stack_.pop_back(); }

 private:
  Lane& lane_;
  std::size_t& room_;
  bool counting_ = true;
  std::vector<std::uint32_t> stack_{0};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
  std::vector<std::uint32_t> last_child_{0};
};

// A part of a lane: places in [from, to] of one axis.
struct Range {
  analyze::SliceAxis axis = analyze::SliceAxis::time;
  std::uint64_t from = 0;
  std::uint64_t to = ~std::uint64_t{0};
  std::uint64_t of(const Place& place) const {
    return axis == analyze::SliceAxis::time ? place.time : place.instructions;
  }
  bool has(const Place& place) const { return of(place) >= from && of(place) <= to; }
  // How many of the `insns` instructions that end at a place are in it. What is executed in a part
  // of time cannot be told apart further than by branches.
  std::uint64_t part_of(const Place& end, std::uint64_t insns) const {
    if (axis == analyze::SliceAxis::time) return has(end) ? insns : 0;
    const std::uint64_t begin = end.instructions - insns;
    const std::uint64_t first = std::max(begin, from), last = std::min(end.instructions, to);
    return last > first ? last - first : 0;
  }
  // Whether a call that is entered there is one of those in it.
  bool enters(const Place& place) const {
    return has(place) && (axis == analyze::SliceAxis::time || place.instructions < to);
  }
};

// Follows one thread's calls into a lane.
class LaneBuilder final : public analyze::CallWatcher {
 public:
  // All must outlive this.
  LaneBuilder(analyze::Following& following, SliceRoom& room, std::size_t& node_room, Lane& lane);

  // `time` is the branch's, in nanoseconds.
  void branch(const session::Context& who, const Branch& branch, std::uint64_t time);
  // As if all before had come.
  void restore(const analyze::SavedCalls& saved);
  // Only this part is summed up, and no slices are made.
  void only_stacks(const Range& range);
  // The path is made of samples, and each is marked.
  void mark_samples() { samples_ = true; }
  // The path ends, or what was looked at.
  void finish();
  analyze::OpenCalls& calls() { return calls_; }
  // Of the last branch.
  const Place& at() const { return at_; }

  void opened(const analyze::OpenCall& call, std::size_t depth) override;
  void became(const analyze::OpenCall& call, std::size_t depth) override;
  void closed(const analyze::OpenCall& call, analyze::CallEnd how,
              const analyze::CallClock& now) override;

 private:
  struct Open {
    Slice slice;
    bool shown = false;  // no stub
  };
  Place place(const analyze::CallClock& clock);
  void start(Open& open, const analyze::OpenCall& call);
  void end_innermost(const Place& at, bool known);
  void mark(MarkKind kind, const Place& at, std::uint64_t branch);
  void count(const Branch& branch, std::uint64_t time, bool replaced);
  void add(const Slice& slice);

  SliceRoom& room_;
  Lane& lane_;
  analyze::OpenCalls calls_;
  StackCounter stacks_;
  std::optional<Range> only_;
  std::vector<Open> open_;
  std::size_t depth_ = 0;  // of those that are shown
  Place at_;
  Place before_;         // the branch that is handled
  bool losing_ = false;  // that is a `lost`
  bool restoring_ = false;
  bool samples_ = false;
  std::uint64_t last_time_ = 0;  // of a branch
  std::uint32_t space_ = 0;
};

class ProcessorBuilder;

// Makes the overview of a session while it is walked.
class OverviewBuilder final : public ask::ThreadSink {
 public:
  OverviewBuilder(session::Session& session, std::size_t most_slices = Overview::kMostSlices);
  ~OverviewBuilder() override;
  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override;
  Overview take();

 private:
  struct Thread;
  Thread& of(const session::Context& who);

  session::Clock clock_;
  bool samples_;  // the trace is made of them
  analyze::Following following_;
  SliceRoom room_;
  std::size_t node_room_ = Overview::kMostNodes;
  std::map<ask::ThreadId, std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> order_;
  Thread* last_ = nullptr;
  analyze::ProcessSpaces spaces_;
  std::unique_ptr<ProcessorBuilder> processors_;  // null: the recording has no traces of processors
};

// For a cache, without processors: of recordings that have those none is kept. read(): nullopt for
// what makes no sense; it may be anybody's.
std::vector<std::uint8_t> write_overview(const Overview& overview);
std::optional<Overview> read_overview(std::span<const std::uint8_t> bytes);

}  // namespace hodo::serve
