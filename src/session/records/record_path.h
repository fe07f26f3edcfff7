// Recorded branches, BTS or LBR, as batches of Branch: what the records leave out (of which kind a
// branch was, what ran between two of them) comes from the code.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/flow/branch.h"
#include "hodo/flow/decoder.h"
#include "hodo/session/loss.h"
#include "hodo/session/sink.h"
#include "straight_line.h"
#include "stream/queue_sink.h"

namespace hodo::session {

// One branch as it was recorded. No `from`: recording starts at `to`. No `to`: it ends at `from`.
struct RecordedBranch {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  BranchKind kind = BranchKind::unknown;  // unknown: the record does not say
  std::uint8_t flags = 0;                 // kMispredicted, kInTx
  std::uint16_t cycles = 0;
};

// Whose branches come next.
struct Executing {
  Context who;
  const image::CodeSource* code = nullptr;  // null: no code is known
  isa::Mode mode = isa::Mode::bits64;
  Unrecorded unrecorded = Unrecorded::nothing;
  // Trace time: when its process is over, or runs code of another width.
  std::uint64_t until = ~std::uint64_t{0};
  bool joins = true;  // false: only some branches were recorded, and nothing follows from two
};

// Takes the records of one stream in the order of execution. A record's source that cannot be
// reached from the target before it is a gap: a loss, and a `lost` branch (kResync) in the path.
// Code that is not known is a loss, too, but no gap.
class RecordPath {
 public:
  // All references must outlive the path.
  RecordPath(BranchSink& out, flow::Stats& stats, LossTally& losses, ExplainFunction explain,
             bool want_not_taken);

  // What is said holds for the records added from here on. The code must stay as long as the path.
  void enter(const Executing& executing);
  void set_time(std::uint64_t time) { time_ = time; }
  // Where the next record lies in the input, for losses.
  void set_offset(std::uint64_t offset) { offset_ = offset; }
  // Nothing joins what comes next to what was before. With `at` the path is picked up there: a
  // `begin` with kResync.
  void restart(std::uint64_t at = 0);
  // Records are missing here: a `lost` branch. The caller has counted the loss.
  void gap();

  void add(const RecordedBranch& record) {
    const std::uint64_t start = at_ != 0 ? at_ : record.from;
    Known& known = known_[slot(start, record.from)];
    const bool fits = known.start == start && known.source == record.from &&
                      known.space == space_ && known.line.valid_from <= time_ &&
                      time_ < known.line.valid_until && known.plain && record.to != 0 &&
                      (known.line.target == 0 || known.line.target == record.to) &&
                      record.kind == BranchKind::unknown;
    if (!fits) [[unlikely]]
      return add_slowly(record);
    stats_.not_taken += known.line.not_taken;
    const auto flags = static_cast<std::uint8_t>(record.flags | known.flags);
    emit({.from = record.from,
          .to = record.to,
          .time = time_,
          .insns = known.line.insns,
          .kind = known.kind,
          .flags = flags,
          .cycles = record.cycles});
    at_ = executing_.joins ? record.to : 0;
  }

  // Hands over what has come together. Once, at the end.
  void finish();
  // The user wants no more.
  bool stopped() const { return stopped_; }

 private:
  // The answer for one pair of addresses, kept.
  struct alignas(64) Known {
    std::uint64_t start = 0;
    std::uint64_t source = 0;
    StraightLine line;
    std::uint32_t space = 0;
    BranchKind kind = BranchKind::unknown;
    std::uint8_t flags = 0;
    std::uint8_t cause = 0;  // why not joined: index in causes_, from 1; 0: not told yet
    bool plain = false;      // add() needs nothing but this
  };
  static constexpr std::size_t kKnown = 1 << 14;
  static constexpr std::size_t kBatch = 1024;

  static std::size_t slot(std::uint64_t start, std::uint64_t source) {
    return (start ^ source * 0x9e3779b97f4a7c15 >> 40) & (kKnown - 1);
  }
  StraightLine walk(std::uint64_t start, std::uint64_t source) const;
  Known& find(std::uint64_t start, std::uint64_t source);
  bool is_event(const RecordedBranch& record, const Known& known) const;
  bool fetch_failed(const RecordedBranch& record, const Known& known) const;
  static bool is_doubtful(const RecordedBranch& record, const Known& known);
  void settle_doubt();
  void add_slowly(const RecordedBranch& record);
  void add_begin(std::uint64_t to);
  void add_not_taken(std::uint64_t start, std::uint64_t source, std::uint32_t& insns);
  void tell(Known& known);
  void emit(const Branch& branch) {
    ++stats_.branches[static_cast<std::size_t>(branch.kind)];
    push(branch);
  }
  void push(const Branch& branch) {
    stats_.instructions += branch.insns;
    batch_[filled_] = branch;
    if (++filled_ == kBatch) [[unlikely]]
      flush();
  }
  void flush();

  BranchSink& out_;
  flow::Stats& stats_;
  LossTally& losses_;
  ExplainFunction explain_;
  bool want_not_taken_;
  Executing executing_;
  std::uint32_t space_ = 0;  // as in Known: tells the executing code from other code
  std::uint64_t time_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t at_ = 0;  // where execution stands; 0: unknown
  bool stopped_ = false;
  std::size_t filled_ = 0;
  // The last branch of the batch is told as an event, but may have been of this kind.
  struct {
    BranchKind kind = BranchKind::unknown;
    std::size_t behind = 0;  // filled_ behind it; 0: none
  } doubtful_;
  std::vector<Branch> batch_ = std::vector<Branch>(kBatch);
  std::vector<Known> known_ = std::vector<Known>(kKnown);
  struct Cause {
    std::string name;
    std::uint64_t more = 0;  // losses that are counted but not in losses_ yet
  };
  std::vector<Cause> causes_;
};

}  // namespace hodo::session
