#include "hodo/ask/index.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hodo::ask {
namespace {

// Bytes that a segment takes, about.
constexpr std::size_t kOfSegment = 300;
constexpr std::size_t kOfCall = 40;
constexpr std::size_t kOfReturn = 12;
// What the index may take: a tenth of the trace, and this.
constexpr std::uint64_t kShare = 10;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;

bool executed(const Branch& branch) {
  return branch.kind < BranchKind::begin && (branch.flags & kAsync) == 0;
}

}  // namespace

// Follows all threads and notes what is known at checkpoints.
class IndexBuilder final : public session::CheckpointSink {
 public:
  explicit IndexBuilder(session::Session& session)
      : clock_(session.clock()), following_(session.names(), session.clock()) {
    before_.resize(following_.return_sites().size());
  }

  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    Thread& thread = thread_of_queue(who);
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      ++thread.count;
      thread.site = branch.insns - (executed(branch) && branch.insns != 0 ? 1 : 0);
      thread.calls.branch(who.space, branch);
      if (branch.kind == BranchKind::lost) thread.last_loss = thread.count;
    }
    if (!batch.empty() && batch.back().time != 0) {
      thread.time = clock_.nanoseconds(batch.back().time);
    }
    return true;
  }

  void checkpoint(const session::Context& who, const flow::Checkpoint& at) override {
    Thread& thread = thread_of_queue(who);
    add(thread, who.queue, at);
  }

  Index take() { return std::move(index_); }

 private:
  struct Thread final : analyze::CallWatcher {
    explicit Thread(analyze::Following& following) : calls(following, this) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void opened(const analyze::OpenCall& call, std::size_t) override {
      sites.push_back(site);
      if (!call.stub) entered(call);
    }
    void became(const analyze::OpenCall& call, std::size_t depth) override {
      low = std::min(low, depth);
      entered(call);
    }
    void entered(const analyze::OpenCall& call) {
      if (call.how != analyze::CallEntry::first) call_before = call.since.branches;
    }
    void closed(const analyze::OpenCall& call, analyze::CallEnd how,
                const analyze::CallClock& now) override {
      sites.pop_back();
      low = std::min(low, sites.size());
      if (how == analyze::CallEnd::returned && !call.stub) return_before = now.branches;
    }

    ThreadId id;
    analyze::OpenCalls calls;
    std::vector<std::uint64_t> sites;  // as IndexedCall::site
    std::uint64_t site = 0;
    std::size_t low = 0;  // so many open calls are as they were at the last segment
    std::uint64_t count = 0;
    std::uint64_t time = 0;
    std::uint64_t call_before = 0;
    std::uint64_t return_before = 0;
    std::uint64_t last_loss = 0;
  };

  Thread& thread_of_queue(const session::Context& who) {
    if (current_ != nullptr && queue_ == who.queue) return *current_;
    const ThreadId id = thread_of(who);
    auto [it, fresh] = threads_.try_emplace(id, following_);
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
                .branches = thread.count,
                .time = thread.time,
                .calls = thread.calls.save(),
                .call_before = thread.call_before,
                .return_before = thread.return_before,
                .last_loss = thread.last_loss};
    std::vector<analyze::SavedCall> open = std::exchange(out.calls.open, {});
    out.kept = std::min(thread.low, open.size());
    for (std::size_t i = out.kept; i < open.size(); ++i) {
      out.opened.push_back({open[i], thread.sites[i]});
    }
    const auto sites = following_.return_sites();
    for (std::uint32_t i = 0; i < sites.size(); ++i) {
      if (sites[i] != before_[i]) out.returns.emplace_back(i, sites[i]);
    }
    const std::size_t bytes =
        kOfSegment + out.opened.size() * kOfCall + out.returns.size() * kOfReturn;
    if (from) offset_ = from->offset;
    if (from && spent_ + bytes > (gone_ + offset_) / kShare + kAlways) return;
    spent_ += bytes;
    std::ranges::copy(sites, before_.begin());
    thread.low = open.size();
    index_.segments_.push_back(std::move(out));
  }

  session::Clock clock_;
  analyze::Following following_;
  std::map<ThreadId, Thread> threads_;
  Thread* current_ = nullptr;
  std::uint32_t queue_ = 0;
  std::uint64_t offset_ = 0;           // of the last checkpoint in the queue
  std::uint64_t gone_ = 0;             // bytes of the queues before
  std::uint64_t spent_ = 0;            // about, on the index
  std::vector<std::uint64_t> before_;  // return sites at the last segment
  Index index_;
};

Result<Index> Index::build(session::Session& session, session::Parts& parts, std::size_t spacing,
                           const session::ProgressFunction& progress) {
  IndexBuilder builder(session);
  auto outcome = parts.decode_marked({.progress = progress}, spacing, builder);
  if (!outcome) return std::unexpected(outcome.error());
  return builder.take();
}

std::size_t Index::at(const ThreadId& thread, std::uint64_t branches) const {
  std::size_t found = kNone;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].thread == thread && segments_[i].branches <= branches) found = i;
  }
  return found;
}

std::vector<IndexedCall> Index::open_at(std::size_t segment) const {
  std::vector<IndexedCall> out;
  for (std::size_t i = 0; i <= segment; ++i) {
    const Segment& s = segments_[i];
    if (s.thread != segments_[segment].thread) continue;
    out.resize(std::min(out.size(), s.kept));
    out.insert(out.end(), s.opened.begin(), s.opened.end());
  }
  return out;
}

void Index::returns_at(std::size_t segment, std::span<std::uint64_t> sites) const {
  for (std::size_t i = 0; i <= segment; ++i) {
    for (const auto& [slot, address] : segments_[i].returns) {
      if (slot < sites.size()) sites[slot] = address;
    }
  }
}

namespace {

// Numbers one thread's branches from some place on.
class Numbered final : public session::BranchSink {
 public:
  Numbered(std::uint64_t before, ThreadSink& sink) : count_(before), sink_(sink) {}
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    const std::uint64_t first = count_ + 1;
    count_ +=
        batch.size() - static_cast<std::size_t>(std::ranges::count_if(
                           batch, [](const Branch& b) { return (b.flags & kNotTaken) != 0; }));
    more_ = sink_.branches(who, first, batch);
    return more_;
  }
  bool more() const { return more_; }

 private:
  std::uint64_t count_;
  ThreadSink& sink_;
  bool more_ = true;
};

}  // namespace

Result<session::Outcome> walk_from(const IndexedRecording& recording, std::size_t segment,
                                   ThreadSink& sink) {
  const auto segments = recording.index.segments();
  Numbered numbered(segments[segment].branches, sink);
  std::optional<session::Outcome> all;
  // Ever more at once, as nobody knows how much is wanted: each part learns the code anew.
  for (std::size_t step = 2, next = 0; numbered.more() && segment < segments.size(); step *= 2) {
    const Segment& first = segments[segment];
    next = segment + 1;
    while (next < segments.size() && next - segment < step && segments[next].queue == first.queue) {
      ++next;
    }
    const bool same_queue = next < segments.size() && segments[next].queue == first.queue;
    session::StreamPart part{.queue = first.queue, .from = first.from};
    if (same_queue) part.until = segments[next].from->offset;
    auto outcome = recording.parts->decode_part(part, {}, numbered);
    if (!outcome) return outcome;
    if (!all) {
      all = std::move(*outcome);
    } else {
      all->stats += outcome->stats;
      if (outcome->losses.size() > all->losses.size()) all->losses = std::move(outcome->losses);
    }
    // A thread may have another queue.
    while (next < segments.size() && segments[next].thread != first.thread) ++next;
    segment = next;
  }
  return std::move(*all);
}

}  // namespace hodo::ask
