// Making an index: one decoding of everything, in which all threads' calls are followed.
#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "hodo/ask/index.h"
#include "hodo/flow/decoder.h"
#include "hodo/flow/transfers.h"
#include "kept_calls.h"
#include "made_rows.h"
#include "ran_code.h"

namespace hodo::ask {
namespace {

// Bytes that a segment takes, about.
constexpr std::size_t kOfSegment = 350;
constexpr std::size_t kOfCall = 40;
constexpr std::size_t kOfReturn = 12;
constexpr std::size_t kOfCallee = 3;
constexpr std::size_t kOfName = 12;  // a callee or granule that is new
// Bytes of changes from one that is whole to the next: at least, and times what that takes.
constexpr std::size_t kBetweenWhole = std::size_t{8} << 10;
constexpr std::size_t kShareOfWhole = 4;
// What the index may take: a tenth of the trace, and this.
constexpr std::uint64_t kShare = 10;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
// Different functions that are told apart; with more the index says nothing of them.
constexpr std::size_t kMostCallees = std::size_t{1} << 20;

// Numbers the functions that are entered, and counts in the present segment.
class CalleeCounts {
 public:
  CalleeCounts(std::vector<Callee>& all, bool& too_many) : all_(all), too_many_(too_many) {}

  struct Key {
    std::uint64_t entry = 0;
    std::uint32_t space = 0;
    std::uint32_t function = 0;
    bool by_call = false;  // and on, as Callee has it
    bool hidden = false;
    bool first = false;
    bool operator==(const Key&) const = default;
  };
  // A function whose calls are counted; keeps its place.
  struct Known {
    Key key;
    CalleeCount here;
    std::uint64_t segment = 0;  // that `here` is of
  };

  Known* opened(std::uint32_t space, const analyze::OpenCall& call) {
    Known& known = of(space, call);
    count(known).opened += call.goes_on ? 0 : 1;
    return &known;
  }
  void closed(Known& known) { ++count(known).closed; }
  Known& known(std::uint32_t space, const analyze::OpenCall& call) { return of(space, call); }
  // So many that have begun and ended.
  void passed(Known& known, std::uint32_t times) {
    CalleeCount& here = count(known);
    here.opened += times;
    here.closed += times;
  }
  std::size_t size() const { return here_.size(); }
  // Up to the last take(), by function.
  std::span<const std::uint64_t> calls() const { return calls_; }
  std::vector<CalleeCount> take() {
    std::vector<CalleeCount> out;
    out.reserve(here_.size());
    for (const Known* const known : here_) {
      out.push_back(known->here);
      // No rows are made of what nothing is called in.
      if (!known->key.first || known->key.entry != 0) {
        calls_[known->key.function] += known->here.opened;
      }
    }
    std::ranges::sort(out, {}, &CalleeCount::callee);
    ++segment_;
    here_.clear();
    return out;
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const unsigned how = (key.by_call ? 1u : 0u) | (key.hidden ? 2u : 0u) | (key.first ? 4u : 0u);
      std::uint64_t h = key.entry ^ std::uint64_t{key.space} << 48 ^ std::uint64_t{how} << 61;
      h = (h ^ std::uint64_t{key.function} << 20) * 0x9e3779b97f4a7c15;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };

  Known& of(std::uint32_t space, const analyze::OpenCall& call) {
    const bool hidden = call.how == analyze::CallEntry::called && call.entry == 0;
    const bool first = call.how == analyze::CallEntry::first;
    const Key key{call.entry, space, call.function, call.by_call, hidden, first};
    // Nearly all of a function are entered in one way.
    if (call.function >= last_.size()) last_.resize(std::size_t{call.function} * 2 + 1);
    Known*& last = last_[call.function];
    if (last == nullptr || !(last->key == key)) last = &look_up(key, call);
    return *last;
  }
  Known& look_up(const Key& key, const analyze::OpenCall& call) {
    if (call.function >= calls_.size()) calls_.resize(std::size_t{call.function} * 2 + 1);
    auto [it, fresh] = known_.try_emplace(key);
    if (!fresh) return it->second;
    too_many_ |= all_.size() == kMostCallees;
    const std::size_t number = all_.size() - (too_many_ ? 1 : 0);
    it->second = {.key = key, .here = {.callee = static_cast<std::uint32_t>(number)}};
    if (!too_many_) {
      all_.push_back({key.space, call.entry, call.since.ticks, key.by_call, key.hidden, key.first});
    }
    return it->second;
  }
  CalleeCount& count(Known& known) {
    if (known.segment != segment_) {
      known.segment = segment_;
      known.here = {.callee = known.here.callee};
      here_.push_back(&known);
    }
    return known.here;
  }

  std::vector<Callee>& all_;
  bool& too_many_;
  std::vector<Known*> last_;                    // by function
  std::unordered_map<Key, Known, Hash> known_;  // keeps its elements where they are
  std::vector<Known*> here_;                    // counted in the segment
  std::vector<std::uint64_t> calls_;            // by function
  std::uint64_t segment_ = 1;
};

// Nothing: there is none.
std::optional<Branch> last_of(const flow::Transfers& batch) {
  if (batch.last.kind != BranchKind::lost) return batch.last;
  if (!batch.walked.empty() &&
      (batch.rows.empty() || batch.rows.back().begin < batch.walked.size())) {
    return batch.walked.back();
  }
  if (batch.rows.empty() || batch.list.back().what == 0) return std::nullopt;
  flow::Transfer transfer = batch.list.back();
  if (transfer.what == flow::TransferBook::kSpan) {
    const flow::CallSpan& span = batch.spans.back();
    transfer = {.what = span.last, .since = span.since, .to = span.to};
  }
  std::uint32_t at = transfer.what;
  std::uint32_t insns = transfer.since;
  while (((*batch.book)[at].flags & flow::TransferBook::kLast) == 0) {
    ++at;
    insns = 0;
  }
  Branch out = flow::branch_of((*batch.book)[at], transfer.to, batch.rows.back().time);
  out.insns += insns;
  return out;
}

}  // namespace

// Follows all threads and notes what is known at checkpoints.
class IndexBuilder final : public session::CheckpointSink {
 public:
  IndexBuilder(session::Session& session, CallStore* calls)
      : clock_(session.clock()),
        following_(session.names(), session.clock()),
        callees_(index_.ran_.callees, index_.ran_.too_many_callees),
        ran_(index_.ran_.granules) {
    if (calls == nullptr) return;
    std::uint64_t trace = 0;
    for (const session::Queue& queue : session.queues()) trace += queue.bytes;
    rows_.emplace(following_, *calls, trace);
  }

  bool branches(const session::Context&, std::span<const Branch>) override { return true; }
  bool leaves_out_jumps() const override { return true; }
  bool may_leave_out(const session::Context& who, std::uint64_t line,
                     const Branch& jump) const override {
    return following_.is_within(who.space, line, jump);
  }
  bool wants_lines() const override { return true; }
  const flow::CallJudge* call_judge(const session::Context& who) override {
    return following_.call_judge(who.space);
  }
  bool transfers(const session::Context& who, const flow::Transfers& batch) override {
    Thread& thread = thread_of_queue(who);
    thread.space = who.space;
    thread.pid = who.pid;
    add_lines(thread, batch.lines);
    thread.calls.transfers(who.space, batch);
    add_passed(thread, batch.passed);
    if (const auto last = last_of(batch)) {
      thread.last = *last;
      if (last->time != 0) thread.time = clock_.nanoseconds(last->time);
    }
    return true;
  }

  void checkpoint(const session::Context& who, const flow::Checkpoint& at) override {
    Thread& thread = thread_of_queue(who);
    add(thread, who.queue, at);
  }

  Index take(const std::vector<session::LossLine>& losses) {
    finish_segment();
    mark_losses(losses);
    finish_rows(losses.empty());
    index_.bytes_ = changes_.take();
    index_.changes_ = index_.bytes_;
    index_.find_whole();
    return std::move(index_);
  }

 private:
  struct Thread final : analyze::CallWatcher {
    explicit Thread(IndexBuilder& of) : builder(of), calls(of.following_, this) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void opened(const analyze::OpenCall& call, std::size_t) override {
      open.emplace_back();
      if (!call.stub) entered(call);
    }
    // Only the innermost call becomes another.
    void became(const analyze::OpenCall& call, std::size_t at) override {
      low = std::min(low, at);
      entered(call);
    }
    void entered(const analyze::OpenCall& call) {
      Open& entry = open.back();
      entry = {.known = builder.callees_.opened(space, call),
               .function = call.function,
               .caller = caller(),
               .pid = pid,
               .space = space,
               .visit = builder.visit_};
      if (call.how != analyze::CallEntry::first) call_before = call.since.branches;
    }
    void closed(const analyze::OpenCall& call, analyze::CallEnd how,
                const analyze::CallClock& now) override {
      const Open entry = open.back();
      open.pop_back();
      low = std::min(low, open.size());
      if (call.stub) return;
      if (entry.known != nullptr) builder.callees_.closed(*entry.known);
      if (builder.rows_) add_row(entry, call, static_cast<CallRow::Outcome>(how), now);
      if (how == analyze::CallEnd::returned) return_before = now.branches;
    }

    void passed(std::uint64_t last_call, std::uint64_t last_return) override {
      call_before = std::max(call_before, last_call);
      return_before = std::max(return_before, last_return);
    }

    void passed_one(const analyze::PassedCall& call) override {
      if (!builder.rows_) return;
      static_assert(analyze::PassedCall::kNobody == kNobody);
      CallRow row{.at = {id, call.since.branches, 0},
                  .pid = pid,
                  .time = call.since.time,
                  .function = call.function,
                  .caller = call.caller,
                  .site = call.site,
                  .space = space,
                  .ticks = call.since.ticks,
                  .outcome = CallRow::Outcome::returned};
      end_at(call.until, call.since, row);
      builder.rows_->add_passed(row, builder.visit_, call.callee);
    }
    // The path ends here.
    void end() {
      const auto calls_open = calls.open();
      for (std::size_t i = open.size(); i-- > 0;) {
        if (!calls_open[i].stub) {
          add_row(open[i], calls_open[i], CallRow::Outcome::open, calls.clock());
        }
      }
    }

    // A call that is open. Of a stub nothing is known.
    struct Open {
      CalleeCounts::Known* known = nullptr;
      std::uint32_t function = kNobody;
      std::uint32_t caller = kNobody;
      std::int32_t pid = -1;
      std::uint32_t space = 0;
      std::uint32_t visit = 0;
    };
    // Of the innermost call.
    std::uint32_t caller() const {
      for (std::size_t i = open.size() - 1; i-- > 0;) {
        if (open[i].function != kNobody) return open[i].function;
      }
      return kNobody;
    }
    void add_row(const Open& entry, const analyze::OpenCall& call, CallRow::Outcome outcome,
                 const analyze::CallClock& now) const {
      if (!analyze::is_listed(call)) return;
      CallRow row{.at = {id, call.since.branches, 0},
                  .pid = entry.pid,
                  .time = call.since.time,
                  .function = call.function,
                  .caller = entry.caller,
                  .site = call.site,
                  .space = entry.space,
                  .ticks = call.since.ticks,
                  .outcome = outcome};
      end_at(now, call.since, row);
      builder.rows_->add(row, entry.visit);
    }
    static void end_at(const analyze::CallClock& now, const analyze::CallClock& since,
                       CallRow& row) {
      row.until = {row.at.thread, now.branches, 0};
      row.instructions = now.instructions - since.instructions;
      if (row.time != 0 && now.time > row.time) row.duration = now.time - row.time;
    }

    IndexBuilder& builder;
    ThreadId id;
    std::uint32_t space = 0;
    std::int32_t pid = -1;
    bool line_goes_on = true;  // one that began in the segment before
    analyze::OpenCalls calls;
    Branch last{.kind = BranchKind::end};
    std::vector<Open> open;
    std::size_t low = 0;  // so many open calls are as they were at the last segment
    std::uint64_t time = 0;
    std::uint64_t call_before = 0;
    std::uint64_t return_before = 0;
  };

  Thread& thread_of_queue(const session::Context& who) {
    if (current_ != nullptr && queue_ == who.queue) return *current_;
    const ThreadId id = thread_of(who);
    auto [it, fresh] = threads_.try_emplace(id, *this);
    current_ = &it->second;
    current_->id = id;
    queue_ = who.queue;
    visit_ = visits_.of(queue_);
    gone_ += std::exchange(offset_, 0);
    add(*current_, who.queue, std::nullopt);
    return *current_;
  }

  // Who looks for a place finds it with the branch that ends its line.
  void add_lines(Thread& thread, std::span<const flow::CodeLine> lines) {
    if (lines.empty()) return;
    if (std::exchange(thread.line_goes_on, false)) {
      const flow::CodeLine before{flow::line_behind(thread.last), lines.front().first};
      if (before.first != 0) ran_.add(thread.space, {&before, 1});
    }
    ran_.add(thread.space, lines);
  }

  void add_passed(Thread& thread, std::span<const flow::PassedCalls> all) {
    if (all.empty()) return;
    for (const flow::PassedCalls& some : all) {
      if (some.callee >= passed_.size()) passed_.resize(2 * std::size_t{some.callee} + 1);
      CalleeCounts::Known*& known = passed_[some.callee];
      if (known == nullptr) known = &passed(thread.space, some.callee);
      callees_.passed(*known, some.count);
    }
  }
  CalleeCounts::Known& passed(std::uint32_t space, std::uint32_t callee) {
    const analyze::SavedCall call = following_.passed_call(callee);
    return callees_.known(space, {.function = following_.function_of(space, call),
                                  .entry = call.entry,
                                  .since = call.since,
                                  .how = call.how,
                                  .by_call = call.by_call});
  }

  void add(Thread& thread, std::uint32_t queue, const std::optional<flow::Checkpoint>& from) {
    Segment out{.thread = thread.id,
                .queue = queue,
                .from = from,
                .time = thread.time,
                .last = thread.last,
                .calls = thread.calls.save(),
                .call_before = thread.call_before,
                .return_before = thread.return_before};
    out.branches = out.calls.clock.branches;
    const std::vector<analyze::SavedCall> open = std::exchange(out.calls.open, {});
    SegmentChange change = change_of(thread, open);
    if (from) offset_ = from->offset;
    if (rows_) rows_->decoded(gone_ + offset_);
    const std::size_t always = kOfSegment + out.calls.set_jumps.size() * kOfReturn;
    if (from && !may_spend(always + bytes_of(change))) return;
    if (changes_.size() >= next_whole_) {
      SegmentChange whole = whole_change(open);
      next_whole_ = changes_.size() + std::max(kBetweenWhole, kShareOfWhole * bytes_of(whole));
      if (may_spend(always + bytes_of(whole))) change = std::move(whole);
    }
    finish_segment();
    spent_ += always + bytes_of(change);
    following_.settle_return_sites();
    thread.low = open.size();
    thread.line_goes_on = true;
    index_.segments_.push_back(std::move(out));
    write_change(change, changes_);
  }

  // What has changed since the last segment.
  SegmentChange change_of(const Thread& thread, std::span<const analyze::SavedCall> open) {
    SegmentChange out{.kept = std::min(thread.low, open.size())};
    out.opened.assign(open.begin() + static_cast<std::ptrdiff_t>(out.kept), open.end());
    const auto sites = following_.return_sites();
    for (const std::uint32_t i : following_.changed_return_sites()) {
      out.returns.emplace_back(i, sites[i]);
    }
    return out;
  }
  SegmentChange whole_change(std::span<const analyze::SavedCall> open) {
    SegmentChange out{.whole = true, .opened = {open.begin(), open.end()}};
    const auto sites = following_.return_sites();
    for (std::uint32_t i = 0; i < sites.size(); ++i) {
      if (sites[i] != 0) out.returns.emplace_back(i, sites[i]);
    }
    return out;
  }
  static std::size_t bytes_of(const SegmentChange& change) {
    return change.opened.size() * kOfCall + change.returns.size() * kOfReturn;
  }

  bool may_spend(std::size_t bytes) const {
    return spent_ + bytes + what_ran() <= (gone_ + offset_) / kShare + kAlways;
  }
  std::size_t what_ran() const {
    return callees_.size() * kOfCallee + ran_.size() +
           (index_.ran_.callees.size() + index_.ran_.granules.size() - names_) * kOfName;
  }

  // What has happened since the last segment began is of that.
  void finish_segment() {
    if (index_.segments_.empty()) return;
    spent_ += what_ran();
    names_ = index_.ran_.callees.size() + index_.ran_.granules.size();
    Ran& ran = index_.ran_.segments.emplace_back();
    ran.callees = callees_.take();
    ran.any_granule = ran_.everywhere();
    ran.granules = ran_.take();
  }

  void mark_losses(const std::vector<session::LossLine>& losses);
  // `whole`: nothing was lost.
  void finish_rows(bool whole) {
    if (!rows_ || !whole || index_.ran_.too_many_callees) return;
    for (auto& [id, thread] : threads_) thread.end();
    rows_->finish(callees_.calls());
  }

  session::Clock clock_;
  Index index_;
  NumberWriter changes_;
  std::size_t next_whole_ = 0;  // once `changes_` is so large
  analyze::Following following_;
  CalleeCounts callees_;
  std::vector<CalleeCounts::Known*> passed_;  // by the judge's number
  RanCode ran_;
  std::map<ThreadId, Thread> threads_;
  Thread* current_ = nullptr;
  std::uint32_t queue_ = 0;
  Visits visits_;
  std::uint32_t visit_ = 0;  // of the present queue
  std::optional<MadeRows> rows_;
  std::uint64_t offset_ = 0;  // of the last checkpoint in the queue
  std::uint64_t gone_ = 0;    // bytes of the queues before
  std::uint64_t spent_ = 0;   // about, on the index
  std::size_t names_ = 0;     // callees and granules that are in `spent_`
};

// Where the places of all losses are known, the segments that they lie in; else those around the
// branches that tell of one, since that may come in the segment behind, and where a queue begins.
void IndexBuilder::mark_losses(const std::vector<session::LossLine>& losses) {
  auto& all = index_.segments_;
  const auto next_of = [&all](std::size_t i) {
    const bool follows = i + 1 < all.size() && all[i + 1].queue == all[i].queue;
    return follows ? &all[i + 1] : nullptr;
  };
  bool anywhere = false;
  for (const session::LossLine& line : losses) anywhere |= line.count > line.sites.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Segment* const next = next_of(i);
    const std::uint64_t begin = all[i].from ? all[i].from->offset : 0;
    const std::uint64_t end = next != nullptr ? next->from->offset : ~std::uint64_t{0};
    for (const session::LossLine& line : losses) {
      for (const session::LossSite& site : line.sites) {
        if (site.who.queue != all[i].queue || !site.offset) continue;
        all[i].lossy |= *site.offset >= begin && *site.offset < end;
      }
    }
    if (next != nullptr && next->calls.last_loss > all[i].calls.last_loss) {
      all[i].lossy = true;
      if (all[i].from) all[i - 1].lossy = true;
    }
    // The last segment's own are not known.
    if (!losses.empty() && (!all[i].from || next == nullptr)) all[i].lossy = true;
    if (!losses.empty() && next != nullptr && next_of(i + 1) == nullptr) all[i].lossy |= anywhere;
  }
}

Result<Index> Index::build(session::Session& session, session::Parts& parts, std::size_t spacing,
                           const session::ProgressFunction& progress, CallStore* calls) {
  IndexBuilder builder(session, calls);
  auto outcome = parts.decode_marked({.progress = progress}, spacing, builder);
  if (!outcome) return std::unexpected(outcome.error());
  return builder.take(outcome->losses);
}

}  // namespace hodo::ask
