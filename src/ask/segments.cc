#include "segments.h"

#include <utility>

namespace hodo::ask {
namespace {

// Of which the trace is read at once: 16 MiB.
constexpr std::size_t kMostAtOnce = 256;

std::uint64_t bytes_of(std::span<const Segment> segments, std::size_t i) {
  const bool follows = i + 1 < segments.size() && segments[i + 1].queue == segments[i].queue;
  if (!follows) return Index::kSpacing;
  return segments[i + 1].from->offset - (segments[i].from ? segments[i].from->offset : 0);
}

}  // namespace

std::size_t end_of_run(std::span<const Segment> segments, std::size_t first, std::size_t most) {
  std::size_t end = first + 1;
  while (end < segments.size() && end - first < most &&
         segments[end].queue == segments[first].queue) {
    ++end;
  }
  return end;
}

std::size_t next_of_thread(std::span<const Segment> segments, std::size_t segment) {
  std::size_t next = segment + 1;
  while (next < segments.size() && segments[next].thread != segments[segment].thread) ++next;
  return next;
}

Status PartsOutcome::decode(const IndexedRecording& recording, std::size_t first, std::size_t end,
                            const session::DecodeOptions& options, session::BranchSink& sink) {
  const auto segments = recording.index.segments();
  session::StreamPart part{.queue = segments[first].queue,
                           .from = segments[first].from,
                           .input_losses = !all_.has_value()};
  const bool goes_on = end < segments.size() && segments[end].queue == segments[first].queue;
  if (goes_on) part.until = segments[end].from->offset;
  auto outcome = recording.parts->decode_part(part, options, sink);
  if (!outcome) return std::unexpected(outcome.error());
  for (session::LossLine& line : outcome->losses) losses_.take(std::move(line));
  if (!all_) {
    all_ = std::move(*outcome);
    return {};
  }
  all_->stats += outcome->stats;
  for (std::size_t i = 0; i < all_->queue_stats.size(); ++i) {
    all_->queue_stats[i] += outcome->queue_stats[i];
  }
  return {};
}

session::Outcome PartsOutcome::take() {
  session::Outcome out = std::move(all_).value_or(session::Outcome{});
  out.losses = losses_.lines();
  return out;
}

void IndexCursor::move_to(std::size_t segment) {
  const std::size_t whole = index_.whole_before(segment);
  if (whole < begin_ || whole > next_ || segment + 1 < next_) {
    changes_ = Index::Changes(index_, whole);
    begin_ = next_ = whole_ = whole;
    returns_.clear();
    open_.clear();
  }
  for (; next_ <= segment; ++next_) {
    const SegmentChange& change = changes_.next();
    auto& open = open_[index_.segments()[next_].thread];
    open.resize(std::min(open.size(), change.kept));
    open.insert(open.end(), change.opened.begin(), change.opened.end());
    if (change.whole) {
      returns_.clear();
      whole_ = next_;
    }
    for (const auto& [slot, address] : change.returns) returns_.push_back({next_, slot, address});
  }
}

analyze::SavedCalls IndexCursor::calls() const {
  const Segment& s = index_.segments()[next_ - 1];
  analyze::SavedCalls out = s.calls;
  out.open = open_.at(s.thread);
  return out;
}

void IndexCursor::put_returns(std::size_t walked, std::span<std::uint64_t> sites) const {
  const bool known = walked != Index::kNone && walked >= whole_;
  if (!known) std::ranges::fill(sites, 0);
  const std::size_t from = known ? walked + 1 : whole_;
  const auto first = std::ranges::lower_bound(returns_, from, {}, &Return::segment);
  for (const Return& one : std::span(first, returns_.end())) {
    if (one.slot < sites.size()) sites[one.slot] = one.address;
  }
}

Result<session::Outcome> walk_segments(const IndexedRecording& recording,
                                       std::span<const std::size_t> chosen,
                                       const WalkOptions& options, SegmentSink& sink) {
  const auto segments = recording.index.segments();
  std::uint64_t total = 0;
  for (const std::size_t i : chosen) total += bytes_of(segments, i);
  std::uint64_t done = 0;
  WalkOptions how = options;
  how.progress = {};
  PartsOutcome all;
  IndexCursor cursor(recording.index);
  std::size_t walked = Index::kNone;  // up to here
  bool more = true;
  for (std::size_t i = 0; i < chosen.size() && more;) {
    if (!options.progress(done, total)) return session::was_stopped();
    const std::size_t first = chosen[i];
    std::size_t end = first;
    const std::size_t limit = end_of_run(segments, first, kMostAtOnce);
    for (; i < chosen.size() && chosen[i] == end && end < limit; ++i, ++end) {
      done += bytes_of(segments, end);
    }
    if (first != walked) {
      cursor.move_to(first);
      sink.begin_at({segments[first], cursor, walked});
    }
    Numbered numbered(segments[first].branches, sink);
    if (Status decoded = all.decode(recording, first, end, how, numbered); !decoded) {
      return std::unexpected(decoded.error());
    }
    more = numbered.more();
    walked = end;
  }
  if (!options.progress(total, total)) return session::was_stopped();
  return all.take();
}

}  // namespace hodo::ask
