// Making an index: one decoding of everything, in which all threads' calls are followed.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "hodo/ask/index.h"
#include "hodo/flow/decoder.h"
#include "ran_code.h"

namespace hodo::ask {
namespace {

// Bytes that a segment takes, about.
constexpr std::size_t kOfSegment = 350;
constexpr std::size_t kOfCall = 40;
constexpr std::size_t kOfReturn = 12;
constexpr std::size_t kOfCallee = 3;
constexpr std::size_t kOfName = 12;  // a callee or granule that is new
// What the index may take: a tenth of the trace, and this.
constexpr std::uint64_t kShare = 10;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
// Different functions that are told apart; with more the index says nothing of them.
constexpr std::size_t kMostCallees = std::size_t{1} << 20;

// Numbers the functions that are entered, and counts in the present segment.
class CalleeCounts {
 public:
  CalleeCounts(std::vector<Callee>& all, bool& too_many)
      : all_(all), too_many_(too_many), recent_(kRecent) {}

  // A function whose calls are counted; keeps its place.
  struct Known {
    std::uint32_t callee = 0;
    std::uint64_t segment = 0;  // it was counted in last,
    std::size_t place = 0;      // there
  };

  Known* opened(std::uint32_t space, const analyze::OpenCall& call) {
    Known& known = of(space, call);
    ++count(known).opened;
    return &known;
  }
  void closed(Known& known) { ++count(known).closed; }
  std::size_t size() const { return here_.size(); }
  std::vector<CalleeCount> take() {
    std::ranges::sort(here_, {}, &CalleeCount::callee);
    ++segment_;
    return std::exchange(here_, {});
  }

 private:
  static constexpr std::size_t kRecent = std::size_t{1} << 12;
  struct Key {
    std::uint64_t entry = 0;
    std::uint32_t space = 0;
    std::uint32_t function = 0;
    std::uint8_t how = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = key.entry ^ std::uint64_t{key.space} << 48 ^ std::uint64_t{key.how} << 61;
      h = (h ^ std::uint64_t{key.function} << 20) * 0x9e3779b97f4a7c15;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  struct Recent {
    Key key;
    Known* known = nullptr;  // maps keep their elements where they are
  };

  Known& of(std::uint32_t space, const analyze::OpenCall& call) {
    const bool hidden = call.how == analyze::CallEntry::called && call.entry == 0;
    const bool first = call.how == analyze::CallEntry::first;
    const auto how =
        static_cast<std::uint8_t>((call.by_call ? 1 : 0) | (hidden ? 2 : 0) | (first ? 4 : 0));
    const Key key{call.entry, space, call.function, how};
    Recent& recent = recent_[Hash{}(key) & (kRecent - 1)];
    if (recent.known == nullptr || !(recent.key == key)) {
      auto [it, fresh] = known_.try_emplace(key);
      if (fresh) {
        too_many_ |= all_.size() == kMostCallees;
        it->second.callee = static_cast<std::uint32_t>(all_.size() - (too_many_ ? 1 : 0));
        if (!too_many_) {
          all_.push_back({space, call.entry, call.since.ticks, call.by_call, hidden, first});
        }
      }
      recent = {key, &it->second};
    }
    return *recent.known;
  }
  CalleeCount& count(Known& known) {
    if (known.segment != segment_) {
      known.segment = segment_;
      known.place = here_.size();
      here_.push_back({.callee = known.callee});
    }
    return here_[known.place];
  }

  std::vector<Callee>& all_;
  bool& too_many_;
  std::vector<Recent> recent_;
  std::unordered_map<Key, Known, Hash> known_;
  std::vector<CalleeCount> here_;
  std::uint64_t segment_ = 1;
};

}  // namespace

// Follows all threads and notes what is known at checkpoints.
class IndexBuilder final : public session::CheckpointSink {
 public:
  explicit IndexBuilder(session::Session& session)
      : clock_(session.clock()),
        following_(session.names(), session.clock()),
        callees_(index_.callees_, index_.too_many_callees_),
        ran_(index_.granules_) {
    before_.resize(following_.return_sites().size());
  }

  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    if (batch.empty()) return true;
    Thread& thread = thread_of_queue(who);
    thread.space = who.space;
    ran_.add(who.space, thread.last, batch);
    thread.calls.branches(who.space, batch);
    thread.last = batch.back();
    if (batch.back().time != 0) thread.time = clock_.nanoseconds(batch.back().time);
    return true;
  }

  void checkpoint(const session::Context& who, const flow::Checkpoint& at) override {
    Thread& thread = thread_of_queue(who);
    add(thread, who.queue, at);
  }

  Index take(const std::vector<session::LossLine>& losses) {
    finish_segment();
    mark_losses(losses);
    return std::move(index_);
  }

 private:
  struct Thread final : analyze::CallWatcher {
    explicit Thread(IndexBuilder& of) : builder(of), calls(of.following_, this) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void opened(const analyze::OpenCall& call, std::size_t) override {
      open.push_back(nullptr);
      if (!call.stub) entered(call);
    }
    // Only the innermost call becomes another.
    void became(const analyze::OpenCall& call, std::size_t at) override {
      low = std::min(low, at);
      entered(call);
    }
    void entered(const analyze::OpenCall& call) {
      open.back() = builder.callees_.opened(space, call);
      if (call.how != analyze::CallEntry::first) call_before = call.since.branches;
    }
    void closed(const analyze::OpenCall& call, analyze::CallEnd how,
                const analyze::CallClock& now) override {
      CalleeCounts::Known* const known = open.back();
      open.pop_back();
      low = std::min(low, open.size());
      if (call.stub) return;
      if (known != nullptr) builder.callees_.closed(*known);
      if (how == analyze::CallEnd::returned) return_before = now.branches;
    }

    IndexBuilder& builder;
    ThreadId id;
    std::uint32_t space = 0;
    analyze::OpenCalls calls;
    Branch last{.kind = BranchKind::end};
    std::vector<CalleeCounts::Known*> open;  // of the open calls; null: a stub
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
    gone_ += std::exchange(offset_, 0);
    add(*current_, who.queue, std::nullopt);
    return *current_;
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
    std::vector<analyze::SavedCall> open = std::exchange(out.calls.open, {});
    out.kept = std::min(thread.low, open.size());
    out.opened.assign(open.begin() + static_cast<std::ptrdiff_t>(out.kept), open.end());
    const auto sites = following_.return_sites();
    for (std::uint32_t i = 0; i < sites.size(); ++i) {
      if (sites[i] != before_[i]) out.returns.emplace_back(i, sites[i]);
    }
    if (from) offset_ = from->offset;
    const std::size_t bytes =
        kOfSegment + out.opened.size() * kOfCall + out.returns.size() * kOfReturn;
    if (from && spent_ + bytes + what_ran() > may_spend()) return;
    finish_segment();
    spent_ += bytes;
    std::ranges::copy(sites, before_.begin());
    thread.low = open.size();
    index_.segments_.push_back(std::move(out));
  }

  std::uint64_t may_spend() const { return (gone_ + offset_) / kShare + kAlways; }
  std::size_t what_ran() const {
    return callees_.size() * kOfCallee + ran_.size() +
           (index_.callees_.size() + index_.granules_.size() - names_) * kOfName;
  }

  // What has happened since the last segment began is of that.
  void finish_segment() {
    if (index_.segments_.empty()) return;
    Segment& segment = index_.segments_.back();
    spent_ += what_ran();
    names_ = index_.callees_.size() + index_.granules_.size();
    segment.callees = callees_.take();
    segment.any_granule = ran_.everywhere();
    segment.granules = ran_.take();
  }

  void mark_losses(const std::vector<session::LossLine>& losses);

  session::Clock clock_;
  Index index_;
  analyze::Following following_;
  CalleeCounts callees_;
  RanCode ran_;
  std::map<ThreadId, Thread> threads_;
  Thread* current_ = nullptr;
  std::uint32_t queue_ = 0;
  std::uint64_t offset_ = 0;           // of the last checkpoint in the queue
  std::uint64_t gone_ = 0;             // bytes of the queues before
  std::uint64_t spent_ = 0;            // about, on the index
  std::size_t names_ = 0;              // callees and granules that are in `spent_`
  std::vector<std::uint64_t> before_;  // return sites at the last segment
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
                           const session::ProgressFunction& progress) {
  IndexBuilder builder(session);
  auto outcome = parts.decode_marked({.progress = progress}, spacing, builder);
  if (!outcome) return std::unexpected(outcome.error());
  return builder.take(outcome->losses);
}

}  // namespace hodo::ask
