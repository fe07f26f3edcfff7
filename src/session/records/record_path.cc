#include "record_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "hodo/flow/branch_kind.h"

namespace hodo::session {
namespace {

using End = StraightLine::End;

constexpr std::size_t kMaxCauses = 255;
// How many versions of replaced code are tried for one record.
constexpr int kOlderCode = 4;

flow::LossCause cause_of(End end) {
  switch (end) {
    case End::no_code:
      return flow::LossCause::no_code;
    case End::bad_code:
      return flow::LossCause::bad_code;
    default:
      return flow::LossCause::impossible_outcome;
  }
}

std::string reason_of(const StraightLine& line, std::uint64_t start, std::uint64_t source) {
  switch (line.end) {
    case End::no_code:
      return fmt::format("nothing is known of the code at {:#x}", line.stopped);
    case End::bad_code:
      return fmt::format("the bytes at {:#x} are no instruction", line.stopped);
    default:
      return fmt::format(
          "code does not run from {:#x}, where one branch went, to {:#x}, where the next came "
          "from: records are missing between them",
          start, source);
  }
}

}  // namespace

RecordPath::RecordPath(BranchSink& out, flow::Stats& stats, LossTally& losses,
                       ExplainFunction explain, bool want_not_taken)
    : out_(out),
      stats_(stats),
      losses_(losses),
      explain_(std::move(explain)),
      want_not_taken_(want_not_taken) {}

void RecordPath::enter(const Executing& executing) {
  if (!(executing.who == executing_.who)) flush();
  executing_ = executing;
  // The kept answers of one stream differ by process only; 0 is what an unused one has.
  space_ = executing.who.space + 1;
}

void RecordPath::restart(std::uint64_t at) {
  at_ = 0;
  if (at == 0) return;
  emit({.to = at, .time = time_, .kind = BranchKind::begin, .flags = kResync});
}

void RecordPath::gap() {
  emit({.from = at_, .time = time_, .kind = BranchKind::lost, .flags = kResync});
  at_ = 0;
}

// In the code of the record's time. The branch happened some time before, so where that code does
// not fit, what it replaced may.
StraightLine RecordPath::walk(std::uint64_t start, std::uint64_t source) const {
  const auto at = [&](std::uint64_t time) {
    return walk_straight(*executing_.code, start, source, executing_.mode, time,
                         executing_.unrecorded);
  };
  const auto ends_in_branch = [](const StraightLine& line) {
    return line.end == End::joined && flow::describe(line.cls).kind != BranchKind::unknown;
  };
  const StraightLine newest = at(time_);
  StraightLine line = newest;
  StraightLine joined = newest;  // the newest that leads there, be it to an event
  for (int i = 0; i < kOlderCode && !ends_in_branch(line) && line.valid_from != 0; ++i) {
    line = at(line.valid_from - 1);
    if (joined.end != End::joined) joined = line;
  }
  if (!ends_in_branch(line)) line = joined;
  if (line.end != End::joined) return newest;
  line.valid_from = newest.valid_from;
  line.valid_until = newest.valid_until;
  return line;
}

RecordPath::Known& RecordPath::find(std::uint64_t start, std::uint64_t source) {
  Known& known = known_[slot(start, source)];
  if (known.start == start && known.source == source && known.space == space_ &&
      known.line.valid_from <= time_ && time_ < known.line.valid_until) {
    return known;
  }
  known = {.start = start, .source = source, .space = space_};
  if (executing_.code == nullptr) {
    known.line = {.end = End::no_code, .stopped = start};
  } else {
    known.line = walk(start, source);
  }
  if (known.line.end == End::joined) {
    const auto is = flow::describe(known.line.cls);
    known.kind = is.kind;
    known.flags = is.flags;
    known.plain = is.kind != BranchKind::unknown && (known.line.not_taken == 0 || !want_not_taken_);
  }
  return known;
}

// Counts the loss that a pair stands for: the first time with its place and reason.
void RecordPath::tell(Known& known) {
  const flow::LossCause kind = cause_of(known.line.end);
  ++stats_.losses[static_cast<std::size_t>(kind)];
  if (known.cause != 0) {
    ++causes_[known.cause - 1u].more;
    return;
  }
  flow::Loss loss{.cause = kind,
                  .offset = offset_,
                  .last_ip = known.start,
                  .ip = known.line.stopped,
                  .time = time_,
                  .reason = reason_of(known.line, known.start, known.source)};
  std::string_view cause = flow::name(kind);
  if (known.line.end == End::apart) cause = causes::kGap;
  const auto better = explain_(executing_.who, loss);
  if (better) {
    cause = better->cause;
    loss.reason = better->reason;
  }
  losses_.add(cause,
              {executing_.who, offset_, loss.ip, loss.last_ip, time_, std::move(loss.reason)});
  auto at = std::ranges::find(causes_, cause, &Cause::name);
  if (at == causes_.end() && causes_.size() < kMaxCauses) {
    at = causes_.insert(at, Cause{.name = std::string(cause)});
  }
  if (at != causes_.end()) {
    known.cause = static_cast<std::uint8_t>(at - causes_.begin() + 1);
  }
}

void RecordPath::add_begin(std::uint64_t to) {
  if (to == 0) return settle_doubt();  // an entry that was never written, or a fault at address 0
  emit({.to = to, .time = time_, .kind = BranchKind::begin});
  at_ = to;
}

// The conditional branches on the way that fell through, as branches of their own; takes the
// instructions up to the last of them from `insns`.
void RecordPath::add_not_taken(std::uint64_t start, std::uint64_t source, std::uint32_t& insns) {
  struct Sink final : NotTakenSink {
    Sink(RecordPath& owner, std::uint32_t& left) : path(owner), rest(left) {}
    void not_taken(std::uint64_t from, std::uint64_t next, std::uint32_t executed) override {
      rest -= executed;
      path.push({.from = from,
                 .to = next,
                 .time = path.time_,
                 .insns = executed,
                 .kind = BranchKind::cond,
                 .flags = kNotTaken});
    }
    RecordPath& path;
    std::uint32_t& rest;
  };
  Sink sink(*this, insns);
  walk_straight(*executing_.code, start, source, executing_.mode, time_, executing_.unrecorded,
                &sink);
}

// A branch went where no code was, and the trace ends there: the fault of fetching it.
bool RecordPath::fetch_failed(const RecordedBranch& record, const Known& known) const {
  return known.line.end == End::no_code && record.to == 0 && at_ == record.from;
}

// Whether an interrupt, exception or signal took control at the source, before the instruction
// there was executed.
bool RecordPath::is_event(const RecordedBranch& record, const Known& known) const {
  if (record.kind != BranchKind::unknown) {
    return record.kind == BranchKind::irq || record.kind == BranchKind::exc;
  }
  if (known.line.end != End::joined) return fetch_failed(record, known);
  const bool elsewhere = known.line.target != 0 && known.line.target != record.to;
  return known.kind == BranchKind::unknown || elsewhere;
}

// Whether a record that leaves the program says of an indirect branch either that a signal came
// before it or that it led to address 0, which looks the same.
bool RecordPath::is_doubtful(const RecordedBranch& record, const Known& known) {
  const bool indirect = known.kind == BranchKind::ret || known.kind == BranchKind::icall ||
                        known.kind == BranchKind::ijmp;
  return indirect && record.kind == BranchKind::unknown && record.to == 0 &&
         known.line.end == End::joined;
}

// The fault of fetching code at address 0 follows: the branch led there, and no signal came before
// it.
void RecordPath::settle_doubt() {
  if (filled_ == 0 || doubtful_.behind != filled_) return;
  Branch& branch = batch_[filled_ - 1];
  --stats_.branches[static_cast<std::size_t>(branch.kind)];
  ++stats_.branches[static_cast<std::size_t>(doubtful_.kind)];
  branch.kind = doubtful_.kind;
  branch.flags &= static_cast<std::uint8_t>(~kAsync);
  ++branch.insns;
  ++stats_.instructions;
  doubtful_ = {};
}

void RecordPath::add_slowly(const RecordedBranch& record) {
  if (record.from == 0) return add_begin(record.to);
  const std::uint64_t start = at_ != 0 && executing_.joins ? at_ : record.from;
  Known* known = &find(start, record.from);
  if (known->line.end != End::joined && !fetch_failed(record, *known)) {
    tell(*known);
    if (known->line.end == End::apart) {
      emit({.from = at_,
            .to = record.from,
            .time = time_,
            .kind = BranchKind::lost,
            .flags = kResync});
    }
    if (start != record.from) known = &find(record.from, record.from);
  }
  const StraightLine& line = known->line;
  Branch branch{.from = record.from,
                .to = record.to,
                .time = time_,
                .insns = line.end == End::joined ? line.insns : 0,
                .kind = record.kind != BranchKind::unknown ? record.kind : known->kind,
                .flags = static_cast<std::uint8_t>(record.flags | known->flags),
                .cycles = record.cycles};
  const bool doubtful = is_doubtful(record, *known);
  if (doubtful || is_event(record, *known)) {
    if (record.kind == BranchKind::unknown) {
      branch.kind = record.to == 0 ? BranchKind::end : BranchKind::irq;
    }
    branch.flags = static_cast<std::uint8_t>(record.flags | kAsync);
    branch.insns -= std::min(branch.insns, 1u);
  }
  if (record.to == 0) branch.flags |= kTraceEnd;
  if (line.end == End::joined) {
    stats_.not_taken += line.not_taken;
    if (want_not_taken_ && line.not_taken != 0) {
      add_not_taken(known->start, record.from, branch.insns);
    }
  }
  if (doubtful && filled_ + 1 == kBatch) flush();  // so that it can still be changed
  emit(branch);
  if (doubtful) doubtful_ = {.kind = known->kind, .behind = filled_};
  at_ = executing_.joins ? record.to : 0;
}

void RecordPath::flush() {
  const std::span<const Branch> batch(batch_.data(), filled_);
  if (filled_ != 0 && !stopped_) stopped_ = !out_.branches(executing_.who, batch);
  filled_ = 0;
  doubtful_ = {};
}

void RecordPath::finish() {
  flush();
  for (Cause& cause : causes_) losses_.more(cause.name, std::exchange(cause.more, 0));
}

}  // namespace hodo::session
