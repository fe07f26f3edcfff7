// Collects branches into batches for the sink, counts them, and can take back what a walk emitted
// that proved wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "call_log.h"
#include "call_sums.h"
#include "hodo/flow/decoder.h"
#include "passage_log.h"
#include "path_memo.h"
#include "transfer_log.h"

namespace hodo::flow {

// Who hears what. Without `branches` those of a remembered path are only counted, and `edges` or
// `runs` get them when the counts are settled.
struct Receivers {
  Listener& listener;
  BranchSink* branches = nullptr;
  EdgeSink* edges = nullptr;
  RunSink* runs = nullptr;
  // As `branches` allows it, and the steps are of this decoding alone.
  bool leave_out_jumps = false;
  bool passages = false;  // likewise
  bool written = false;   // as `branches` wants it (BranchSink::writes)
  // Of passages that `branches` reads later: waits until it has read all of them.
  class Readers {
   public:
    virtual void wait_for_all() = 0;

   protected:
    ~Readers() = default;
  };
  Readers* readers = nullptr;

  bool wants_repeats() const {
    return branches != nullptr && !leave_out_jumps && branches->wants_repeats();
  }
  // Steps from beginning to end; else while what is remembered does not pay.
  bool wants_steps() const { return leave_out_jumps || (passages && !wants_repeats()); }
};

class StepGraph;

// Where the straight line began that leads on from a place in the middle of it, if that is not
// known here: whoever decoded what is before knows.
inline constexpr std::uint64_t kLineFromBefore = ~std::uint64_t{0};

// Of no branch.
inline constexpr std::uint64_t kNoTime = ~std::uint64_t{0};

class Output {
 public:
  // All must outlive the output.
  Output(const Config& config, const Receivers& to);

  bool wants_instructions() const { return config_.want_instructions; }
  bool wants_branches() const { return to_.branches != nullptr; }
  bool wants_runs() const { return to_.runs != nullptr; }
  bool wants_edges() const { return to_.edges != nullptr; }
  void count(std::uint32_t instructions) {
    pending_insns_ += instructions;
    stats_.instructions += instructions;
  }
  void instruction(std::uint64_t ip) { instructions_.push_back(ip); }
  // Fills in `insns`.
  void branch(Branch branch);
  // The sink may have to be called before: an event lies between two branches.
  void event(const Event& event);
  void loss(Loss loss);
  // False: no more is wanted.
  bool progress(std::uint64_t offset) { return to_.listener.on_progress(offset); }

  // What was emitted since a mark can be taken back until the next commit().
  struct Mark {
    std::size_t branches;
    std::size_t instructions;
    std::uint64_t counted_insns;
    std::uint64_t pending_insns;
    std::uint64_t line;
    std::uint64_t dropped;
    std::uint64_t flushes;
  };
  Mark mark() const {
    return {.branches = used_,
            .instructions = instructions_.size(),
            .counted_insns = stats_.instructions,
            .pending_insns = pending_insns_,
            .line = line_,
            .dropped = dropped_,
            .flushes = flushes_};
  }
  void take_back(const Mark& mark);
  void commit() {
    if (used_ >= kBatch || instructions_.size() >= kBatch) flush();
  }
  void flush();

  // For who writes branches himself, with their `insns`: where the next one goes, with room for at
  // least kMostAtOnce, and how far he came.
  static constexpr std::size_t kMostAtOnce = kMostPathEdges / 2;
  Branch* pen() {
    commit();
    return batch_.data() + used_;
  }
  void put(const Branch* pen, std::uint64_t pending_insns) {
    if (pen != batch_.data() + used_) told_time_ = pen[-1].time;
    used_ = static_cast<std::size_t>(pen - batch_.data());
    pending_insns_ = pending_insns;
  }
  bool wants_not_taken() const { return config_.want_not_taken; }

  // Which jumps are left out the sink says.
  const BranchSink* leaves_out() const { return to_.leave_out_jumps ? to_.branches : nullptr; }
  // Who judges branches, where passages are written.
  BranchSink* judge() const { return to_.passages ? to_.branches : nullptr; }
  PassageLog& passages() { return passages_; }
  bool wants_passages() const { return to_.passages; }
  // Before the links change in which passages are told, or what repeats name.
  void finish_passages() {
    flush();
    if (to_.readers != nullptr) to_.readers->wait_for_all();
  }
  // Of those who want both: what passes from here on is told as passages, or as repeats.
  void begin_passages() {
    if (!in_passages_) flush();
    in_passages_ = true;
  }
  void begin_repeats() {
    if (in_passages_) flush();
    in_passages_ = false;
  }
  // Of the passages that follow.
  void passages_of(const Passages::Reader& reader) { reader_ = &reader; }
  // Of `time`, with instructions before it.
  void end_passage(std::uint64_t time, std::uint64_t insns) { passages_.close(time, used_, insns); }
  void set_pending_insns(std::uint64_t insns) { pending_insns_ = insns; }

  TransferLog& transfers() { return transfers_; }
  // Of the transfers that follow.
  void transfers_of(std::shared_ptr<const TransferBook> book) {
    if (book_ == book) return;
    flush();
    book_ = std::move(book);
  }
  // Who says what branches do to open calls, which are then followed; or null.
  const CallJudge* call_judge() const { return call_judge_; }
  CallLog& calls() { return calls_; }
  CallSums& call_sums() { return call_sums_; }
  // Of the spans that follow; outlives the output.
  void passed_calls_of(StepGraph& graph) { passed_counts_ = &graph; }
  // Whether the code that ran comes with the transfers.
  bool wants_lines() const { return wants_lines_; }
  void ran(std::uint64_t first, std::uint64_t last) {
    if (wants_lines_) ran_.push_back({first, last});
  }
  std::vector<CodeLine>& lines() { return ran_; }
  // Of the branches left out behind all that is told the last one; of kind `lost`: there are none.
  void left_out_last(const Branch& branch) {
    left_out_last_ = branch;
    left_out_behind_ = used_;
  }
  Branch left_out_last() const { return left_out_behind_ == used_ ? left_out_last_ : Branch{}; }
  // Transfers of this time follow.
  void begin_row(std::uint64_t time) {
    if (row_time_ != time && transfers_.begun()) end_row();
    row_time_ = time;
  }

  // Of the last branch; kNoTime: the next one has to come.
  std::uint64_t told_time() const { return told_time_; }
  // As if there had been none.
  void tell_next() { told_time_ = kNoTime; }

  // The branches between two marks, if they are still here: no flush() came between.
  std::span<const Branch> between(const Mark& from, const Mark& to) const {
    return std::span(batch_).subspan(from.branches, to.branches - from.branches);
  }
  // The branches of a path that is taken again at `time`; they are counted when hits are settled.
  void repeat(const Path& path, const PathMemo& memo, std::uint64_t time);
  // For Receivers::runs: whether the straight line that the path's first edge ends begins where the
  // path does, as the path has it; and where it begins behind the path.
  bool line_begins(const Path& path, std::uint64_t ip) const {
    return path.edge_count == 0 || line_ == ip;
  }
  void move_line(const Path& path, const PathMemo& memo) {
    pending_insns_ = path.tail + (path.edge_count == 0 ? pending_insns_ : 0);
    if (path.edge_count == 0) return;
    line_ = line_behind(memo.edges()[memo.edge_ids(path)[path.edge_count - 1]]);
  }
  // All branches up to here have been counted elsewhere.
  void begin_line(std::uint64_t ip) {
    line_ = ip;
    pending_insns_ = 0;
  }
  // Counts the paths that were taken again, for the numbers and for Receivers::edges and runs.
  void settle(PathMemo& memo);
  // And the steps that were taken.
  void settle(StepGraph& graph);

  std::uint64_t pending_insns() const { return pending_insns_; }
  // For Receivers::runs: where the branch before led.
  std::uint64_t line() const { return line_; }
  // As new, in the middle of a line: what was emitted and counted is forgotten.
  void start_over();
  // Goes on where another output left off.
  void resume(std::uint64_t pending_insns, std::uint64_t line) {
    pending_insns_ = pending_insns;
    line_ = line;
  }

  Stats& stats() { return stats_; }

 private:
  static constexpr std::size_t kBatch =
      512;  // 16 KiB, or some more: the sink finds it in the L1 cache
  static constexpr std::size_t kMostRepeats = 512;  // 12 KiB

  void grow();
  void note_repeat(const Path& path, const PathMemo& memo, std::uint64_t time);
  void hand_on(std::span<const Branch> branches);
  void end_row() {
    if (transfers_.begun()) transfers_.close(row_time_, used_);
  }

  const Config& config_;
  const Receivers to_;
  Stats stats_;
  std::vector<Branch> batch_;  // as long as there is room for; the first used_ count
  std::size_t used_ = 0;
  std::vector<std::uint64_t> lines_;  // for Receivers::runs: where that of each in batch_ begins
  std::vector<Repeat> repeats_;       // in the batch, if somebody wants them
  const PathMemo* memo_ = nullptr;    // theirs
  bool wants_repeats_;
  bool in_passages_ = false;
  PassageLog passages_;
  const Passages::Reader* reader_ = nullptr;  // theirs
  TransferLog transfers_;
  std::shared_ptr<const TransferBook> book_;  // theirs
  std::uint64_t row_time_ = 0;                // of the row that is being written
  Branch left_out_last_;
  std::size_t left_out_behind_ = 0;  // that many of batch_
  bool wants_lines_;
  std::vector<CodeLine> ran_;
  const CallJudge* call_judge_ = nullptr;
  CallLog calls_;
  CallSums call_sums_;
  StepGraph* passed_counts_ = nullptr;
  std::vector<PassedCalls> passed_;
  std::vector<EdgeCount> edges_;
  std::vector<RunCount> runs_;
  std::vector<std::uint64_t> instructions_;
  std::uint64_t pending_insns_ = 0;  // since the last branch
  std::uint64_t line_ = 0;
  std::uint64_t dropped_ = 0;  // branches not taken that nobody wants
  std::uint64_t flushes_ = 0;
  std::uint64_t told_time_ = kNoTime;
};

// A branch's own instructions and those before it, as far as the field can count.
constexpr std::uint32_t saturate_insns(std::uint64_t insns) {
  constexpr std::uint64_t kMost = ~std::uint32_t{0};
  return static_cast<std::uint32_t>(insns < kMost ? insns : kMost);
}

inline void Output::note_repeat(const Path& path, const PathMemo& memo, std::uint64_t time) {
  if (repeats_.size() == kMostRepeats) flush();
  memo_ = &memo;
  repeats_.push_back({.time = time,
                      .begin = static_cast<std::uint32_t>(used_),
                      .path = path.edges / std::uint32_t{Repeats::kStep},
                      .insns = saturate_insns(pending_insns_),
                      .count = path.edge_count});
  pending_insns_ = path.tail;
}

inline void Output::repeat(const Path& path, const PathMemo& memo, std::uint64_t time) {
  if (path.edge_count == 0) {
    pending_insns_ += path.tail;
    return;
  }
  if (wants_repeats_ && !in_passages_) return note_repeat(path, memo, time);
  end_row();
  if (batch_.size() - used_ < kMostPathEdges + kEdgesAtOnce) flush();
  Branch* const out = batch_.data() + used_;
  const std::uint32_t* const ids = memo.edge_ids(path);
  const Branch* const edges = memo.edges();
  for (std::size_t i = 0; i < path.edge_count; i += kEdgesAtOnce) {
    for (std::size_t j = i; j < i + kEdgesAtOnce; ++j) {
      out[j] = edges[ids[j]];
      out[j].time = time;
    }
  }
  out[0].insns = saturate_insns(out[0].insns + pending_insns_);
  used_ += path.edge_count;
  pending_insns_ = path.tail;
}

}  // namespace hodo::flow
